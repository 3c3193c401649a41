@NullMarked
package io.homeostat.reconcile.plan;

import org.jspecify.annotations.NullMarked;
