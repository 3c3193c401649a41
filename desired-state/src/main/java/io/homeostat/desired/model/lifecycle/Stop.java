package io.homeostat.desired.model.lifecycle;

import io.homeostat.desired.model.schema.Default;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Range;
import java.time.Duration;

/** How a program is asked to end. */
public record Stop(
        @Doc("How long the program may take to end before its whole process tree is killed.")
        @Default("30s")
        @Range(min = 1)
        Duration timeout) {}
