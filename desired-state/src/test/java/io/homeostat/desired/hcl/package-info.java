@NullMarked
package io.homeostat.desired.hcl;

import org.jspecify.annotations.NullMarked;
