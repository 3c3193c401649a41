/** Nomad task drivers: processes of this host that run tasks. */
@NullMarked
package io.homeostat.reconcile.runtime.driver;

import org.jspecify.annotations.NullMarked;
