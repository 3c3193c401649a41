/** What this host can and can't do for us, looked at without touching anything. */
@NullMarked
package io.homeostat.reconcile.doctor;

import org.jspecify.annotations.NullMarked;
