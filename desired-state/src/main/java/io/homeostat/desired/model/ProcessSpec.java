package io.homeostat.desired.model;

import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import org.jspecify.annotations.Nullable;

/** Any program; no protocol, an optional probe. */
@Doc("Any program: no protocol, an optional probe.")
public record ProcessSpec(
        @Inline Program program,

        @Inline Lifecycle lifecycle,

        @Doc("How to ask whether the process is well; when left out, a running process is a healthy one.") @Nullable
        Probe probe)
        implements ProgramSpec {}
