@NullMarked
package io.homeostat.reconcile.loop;

import org.jspecify.annotations.NullMarked;
