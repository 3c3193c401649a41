/** Keys that sign, and keys whose signatures are trusted. */
@NullMarked
package io.homeostat.desired.signature;

import org.jspecify.annotations.NullMarked;
