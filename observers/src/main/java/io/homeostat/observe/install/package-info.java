/** What is installed, whole or damaged, and which archives are in the cache. */
@NullMarked
package io.homeostat.observe.install;

import org.jspecify.annotations.NullMarked;
