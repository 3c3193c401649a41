/** What each command does, on a state directory, whether typed here or asked of the agent that runs on it. */
@NullMarked
package io.homeostat.reconcile.command;

import org.jspecify.annotations.NullMarked;
