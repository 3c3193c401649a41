@NullMarked
package io.homeostat.proto;

import org.jspecify.annotations.NullMarked;
