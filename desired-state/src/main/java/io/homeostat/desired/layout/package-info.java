@NullMarked
package io.homeostat.desired.layout;

import org.jspecify.annotations.NullMarked;
