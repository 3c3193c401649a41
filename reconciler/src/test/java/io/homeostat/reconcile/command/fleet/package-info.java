@NullMarked
package io.homeostat.reconcile.command.fleet;

import org.jspecify.annotations.NullMarked;
