@NullMarked
package io.homeostat.actuate;

import org.jspecify.annotations.NullMarked;
