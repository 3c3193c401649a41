/** The machine as a whole: operating system, metadata, kernel. */
@NullMarked
package io.homeostat.observe.host;

import org.jspecify.annotations.NullMarked;
