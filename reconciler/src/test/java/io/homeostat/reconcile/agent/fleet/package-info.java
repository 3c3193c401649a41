@NullMarked
package io.homeostat.reconcile.agent.fleet;

import org.jspecify.annotations.NullMarked;
