/** The program: its syntax, the terminal, and the client of a running agent. */
@NullMarked
package io.homeostat.reconcile.cli;

import org.jspecify.annotations.NullMarked;
