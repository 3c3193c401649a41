@NullMarked
package io.homeostat.controlplane;

import org.jspecify.annotations.NullMarked;
