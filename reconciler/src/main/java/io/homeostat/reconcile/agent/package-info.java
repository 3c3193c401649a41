@NullMarked
package io.homeostat.reconcile.agent;

import org.jspecify.annotations.NullMarked;
