/** Downloads archives, over HTTP or from a file, and resumes what was interrupted. */
@NullMarked
package io.homeostat.actuate.fetch;

import org.jspecify.annotations.NullMarked;
