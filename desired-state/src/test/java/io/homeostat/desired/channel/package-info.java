@NullMarked
package io.homeostat.desired.channel;

import org.jspecify.annotations.NullMarked;
