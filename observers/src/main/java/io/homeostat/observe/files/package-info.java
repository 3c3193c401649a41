/** What is in files whose content matters to a workload. */
@NullMarked
package io.homeostat.observe.files;

import org.jspecify.annotations.NullMarked;
