package io.homeostat.desired.model;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.model.schema.Fields.NeverOver;
import io.homeostat.desired.model.schema.Fields.Secret;
import org.jspecify.annotations.Nullable;

/** A Nomad task driver: a binary that runs tasks for whoever asks it to, behind the handshake of go-plugin. */
@Doc("A Nomad task driver: a binary that runs tasks, behind the handshake of go-plugin.")
@NeverOver("a Driver serves its tasks for as long as it is declared")
public record DriverSpec(
        @Inline Program program,

        @Inline Lifecycle lifecycle,

        @Doc("The driver's own configuration, checked and converted by the schema that it gives itself.")
        @Secret
        @Nullable
        ObjectNode config)
        implements ProgramSpec {
    /** Without the configuration, which may be secret. */
    @Override
    public String toString() {
        return "DriverSpec[" + program.revision() + "]";
    }
}
