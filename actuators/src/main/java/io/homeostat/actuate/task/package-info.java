/** What the host does for the tasks of Nomad's drivers: their directories, their environment, their output. */
@NullMarked
package io.homeostat.actuate.task;

import org.jspecify.annotations.NullMarked;
