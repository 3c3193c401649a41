@NullMarked
package io.homeostat.desired.source;

import org.jspecify.annotations.NullMarked;
