/** The state of one directory, in a SQLite database that one process at a time writes. */
@NullMarked
package io.homeostat.desired.state.sqlite;

import org.jspecify.annotations.NullMarked;
