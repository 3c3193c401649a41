/** Commands for plugins only. */
@NullMarked
package io.homeostat.reconcile.command.plugin;

import org.jspecify.annotations.NullMarked;
