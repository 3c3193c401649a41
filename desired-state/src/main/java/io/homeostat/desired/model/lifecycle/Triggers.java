package io.homeostat.desired.model.lifecycle;

import io.homeostat.desired.model.schema.Default;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Range;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What makes a one-shot run; several may be set. */
public record Triggers(
        @Doc("Once each time the machine boots.") @Default("false")
        boolean startup,

        @Doc("Once in the life of an instance.") @Default("false")
        boolean firstBoot,

        @Doc("Again and again at this interval.") @Range(min = 1000) @Nullable
        Duration every) {}
