/** What workloads use of processor and memory, sampled. */
@NullMarked
package io.homeostat.observe.usage;

import org.jspecify.annotations.NullMarked;
