/** Control groups: where they are, which limits are in force, what this machine cannot limit. */
@NullMarked
package io.homeostat.observe.limits;

import org.jspecify.annotations.NullMarked;
