/** What the benchmarks and the soak share: processes of their own, and what /proc says of them. */
@NullMarked
package io.homeostat.e2e.measure;

import org.jspecify.annotations.NullMarked;
