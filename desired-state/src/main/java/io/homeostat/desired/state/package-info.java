@NullMarked
package io.homeostat.desired.state;

import org.jspecify.annotations.NullMarked;
