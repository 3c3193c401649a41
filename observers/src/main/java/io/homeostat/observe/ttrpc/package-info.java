/**
 * ttRPC, which the agents of guests speak: calls of gRPC's stubs and services in small frames over one connection. Knows nothing of guests.
 */
@NullMarked
package io.homeostat.observe.ttrpc;

import org.jspecify.annotations.NullMarked;
