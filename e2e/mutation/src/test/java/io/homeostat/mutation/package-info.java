@NullMarked
package io.homeostat.mutation;

import org.jspecify.annotations.NullMarked;
