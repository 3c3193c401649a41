/** Processes of this machine: who runs, whose they are, how they ended, and what they have lost. */
@NullMarked
package io.homeostat.observe.process;

import org.jspecify.annotations.NullMarked;
