@NullMarked
package io.homeostat.desired.yaml;

import org.jspecify.annotations.NullMarked;
