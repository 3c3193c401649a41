@NullMarked
package io.homeostat.desired.metadata;

import org.jspecify.annotations.NullMarked;
