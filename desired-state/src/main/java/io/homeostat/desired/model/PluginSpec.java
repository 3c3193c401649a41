package io.homeostat.desired.model;

import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import org.jspecify.annotations.Nullable;

/** A binary that serves the GuestAgentPlugin gRPC protocol. */
@Doc("A binary that serves the GuestAgentPlugin gRPC protocol.")
public record PluginSpec(
        @Inline Program program,

        @Inline Lifecycle lifecycle,

        @Doc("Handed to the plugin at Start and, when it changes, at Apply.") @Nullable
        Config config)
        implements ProgramSpec {
    /** The same with another configuration, or none. */
    public PluginSpec withConfig(@Nullable Config other) {
        return new PluginSpec(program, lifecycle, other);
    }
}
