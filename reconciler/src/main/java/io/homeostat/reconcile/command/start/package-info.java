/** First documents: what {@code init} writes of what there is already, and what {@code bundle} makes of a directory. */
@NullMarked
package io.homeostat.reconcile.command.start;

import org.jspecify.annotations.NullMarked;
