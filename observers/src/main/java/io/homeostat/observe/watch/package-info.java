/** Hints that files have changed, from inotify. */
@NullMarked
package io.homeostat.observe.watch;

import org.jspecify.annotations.NullMarked;
