@NullMarked
package io.homeostat.desired.store;

import org.jspecify.annotations.NullMarked;
