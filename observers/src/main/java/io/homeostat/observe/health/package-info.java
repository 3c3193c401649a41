/** How a running workload is: probes, and calls to plugins. */
@NullMarked
package io.homeostat.observe.health;

import org.jspecify.annotations.NullMarked;
