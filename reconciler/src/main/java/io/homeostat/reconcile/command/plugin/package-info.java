/** Commands that are for plugins only: they speak with running plugins or go by the control plane's words. */
@NullMarked
package io.homeostat.reconcile.command.plugin;

import org.jspecify.annotations.NullMarked;
