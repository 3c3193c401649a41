/** What all actuators share: their failures, and how they write to the disk. */
@NullMarked
package io.homeostat.actuate;

import org.jspecify.annotations.NullMarked;
