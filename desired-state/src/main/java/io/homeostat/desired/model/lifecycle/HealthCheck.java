package io.homeostat.desired.model.lifecycle;

import io.homeostat.desired.model.schema.Default;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Range;
import java.time.Duration;

/** How often health is looked at and how much failure is put up with. */
public record HealthCheck(
        @Doc("Time from one check to the next.") @Default("10s") @Range(min = 1)
        Duration interval,

        @Doc("How long one check may take.") @Default("2s") @Range(min = 1)
        Duration timeout,

        @Doc("How many checks in a row have to fail before the program is restarted.")
        @Default("3")
        @Range(min = 1, max = 1000)
        int failureThreshold) {}
