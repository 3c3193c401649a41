package io.homeostat.desired.model.lifecycle;

import io.homeostat.desired.model.schema.Default;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Range;
import java.time.Duration;

/** How resource usage is sampled. */
public record Metrics(
        @Doc("Time from one sample to the next.") @Default("10s") @Range(min = 100)
        Duration interval,

        @Doc("How many samples are kept; the oldest go first.") @Default("60") @Range(min = 1, max = 100000)
        int maxDatapoints) {}
