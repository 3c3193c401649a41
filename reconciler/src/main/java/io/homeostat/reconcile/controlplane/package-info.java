/** Talks to a control plane: its messages become declarations, and the state of this machine becomes messages to it. */
@NullMarked
package io.homeostat.reconcile.controlplane;

import org.jspecify.annotations.NullMarked;
