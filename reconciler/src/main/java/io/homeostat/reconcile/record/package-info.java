@NullMarked
package io.homeostat.reconcile.record;

import org.jspecify.annotations.NullMarked;
