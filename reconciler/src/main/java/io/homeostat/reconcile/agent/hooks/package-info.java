/** What an operator sees of a running agent: its log, its metrics, and whether it is well. */
@NullMarked
package io.homeostat.reconcile.agent.hooks;

import org.jspecify.annotations.NullMarked;
