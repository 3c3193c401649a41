@NullMarked
package io.homeostat.observe;

import org.jspecify.annotations.NullMarked;
