@NullMarked
package io.homeostat.desired.hcl.language;

import org.jspecify.annotations.NullMarked;
