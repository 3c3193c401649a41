@NullMarked
package io.homeostat.desired.platform;

import org.jspecify.annotations.NullMarked;
