@NullMarked
package io.homeostat.reconcile.cli;

import org.jspecify.annotations.NullMarked;
