/** A control plane and a metadata server to test and to measure against. */
@NullMarked
package io.homeostat.controlplane;

import org.jspecify.annotations.NullMarked;
