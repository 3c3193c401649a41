@NullMarked
package io.homeostat.desired.model;

import org.jspecify.annotations.NullMarked;
