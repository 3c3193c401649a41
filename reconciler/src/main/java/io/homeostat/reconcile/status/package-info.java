@NullMarked
package io.homeostat.reconcile.status;

import org.jspecify.annotations.NullMarked;
