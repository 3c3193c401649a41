/** The daemon: continuous enforcement of one state directory. */
@NullMarked
package io.homeostat.reconcile.agent;

import org.jspecify.annotations.NullMarked;
