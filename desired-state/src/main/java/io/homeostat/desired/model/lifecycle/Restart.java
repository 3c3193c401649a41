package io.homeostat.desired.model.lifecycle;

import io.homeostat.desired.model.schema.Default;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Range;
import java.time.Duration;

/** The policy for a program that ended by itself: at once, then exponentially later with full jitter, up to a cap. */
public record Restart(
        @Doc("Pause before the first restart.") @Default("0s")
        Duration initialDelay,

        @Doc("The longest pause between two restarts.") @Default("5m")
        Duration maxDelay,

        @Doc("After this long in health the count of restarts begins anew.") @Default("10m") @Range(min = 1)
        Duration resetAfter,

        @Doc("After how many restarts in a row to give up; 0: never.") @Default("0") @Range(max = 1000000)
        int giveUpAfter) {}
