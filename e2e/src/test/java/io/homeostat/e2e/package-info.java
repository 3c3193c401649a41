/** Black-box tests of the built program: real processes, real HTTP on loopback, real SQLite; nothing of the program's classes. */
@NullMarked
package io.homeostat.e2e;

import org.jspecify.annotations.NullMarked;
