/** Commands that are about a fleet of machines. */
@NullMarked
package io.homeostat.reconcile.command.fleet;

import org.jspecify.annotations.NullMarked;
