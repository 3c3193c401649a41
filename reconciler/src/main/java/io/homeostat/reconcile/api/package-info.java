/** The local API: the agent's unix socket, what is spoken on it and who may. Knows nothing of commands. */
@NullMarked
package io.homeostat.reconcile.api;

import org.jspecify.annotations.NullMarked;
