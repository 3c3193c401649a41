@NullMarked
package io.homeostat.desired.remote;

import org.jspecify.annotations.NullMarked;
