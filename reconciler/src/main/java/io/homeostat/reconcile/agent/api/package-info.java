/** The unix socket of the agent: who may connect, and how output is streamed. Knows nothing of commands. */
@NullMarked
package io.homeostat.reconcile.agent.api;

import org.jspecify.annotations.NullMarked;
