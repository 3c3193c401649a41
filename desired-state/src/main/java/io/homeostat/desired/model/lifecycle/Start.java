package io.homeostat.desired.model.lifecycle;

import io.homeostat.desired.model.schema.Default;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Range;
import java.time.Duration;

/** When a start counts as failed. */
public record Start(
        @Doc("How long the program may take to become healthy.") @Default("30s") @Range(min = 1)
        Duration timeout,

        @Doc("How often a start is tried before the revision counts as failed.")
        @Default("3")
        @Range(min = 1, max = 1000)
        int attempts,

        @Doc("By how much the pause between two attempts grows.") @Default("2") @Range(min = 1, max = 100)
        int backoffFactor) {}
