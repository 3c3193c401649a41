/** What an operator sees of a running agent: its log, its metrics, whether it is well; and the bound on workloads' logs. */
@NullMarked
package io.homeostat.reconcile.operate;

import org.jspecify.annotations.NullMarked;
