/** Plugins: processes that serve the plugin protocol. */
@NullMarked
package io.homeostat.reconcile.runtime.plugin;

import org.jspecify.annotations.NullMarked;
