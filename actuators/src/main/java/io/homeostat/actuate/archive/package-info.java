/** The cache of archives, their formats, hashes and signatures. */
@NullMarked
package io.homeostat.actuate.archive;

import org.jspecify.annotations.NullMarked;
