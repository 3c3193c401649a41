package io.homeostat.reconcile.runtime.timer;

import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.model.schema.Fields.NamesWorkload;
import io.homeostat.desired.model.schema.Fields.Secret;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A kind that exists only in tests: a timer in memory, with no process, perhaps part of another one. */
@Doc("A timer in the memory of a test.")
public record TimerSpec(
        @Doc("Which one it is.") String revision,

        @Doc("How often it fires.") Duration interval,

        @Doc("The timer it is part of.") @NamesWorkload @Nullable
        String parent,

        @Doc("What it plays.") @Nullable Source source,

        @Doc("What it says when it fires.") @Secret @Nullable
        String words,

        @Inline Lifecycle lifecycle)
        implements WorkloadSpec {}
