/** How workloads are, computed for whoever asks; changes nothing. */
@NullMarked
package io.homeostat.reconcile.status;

import org.jspecify.annotations.NullMarked;
