/** Speaking with a control plane: its messages become declarations, what is true here becomes its messages. */
@NullMarked
package io.homeostat.reconcile.controlplane;

import org.jspecify.annotations.NullMarked;
