/** What somebody asks of plugins that run, beside what is declared of them. */
@NullMarked
package io.homeostat.reconcile.adhoc;

import org.jspecify.annotations.NullMarked;
