/** What commands print: text for people, JSON for programs. */
@NullMarked
package io.homeostat.reconcile.command.output;

import org.jspecify.annotations.NullMarked;
