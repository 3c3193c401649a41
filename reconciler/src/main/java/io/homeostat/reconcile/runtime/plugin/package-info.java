/** Plugins: processes that are spoken with. */
@NullMarked
package io.homeostat.reconcile.runtime.plugin;

import org.jspecify.annotations.NullMarked;
