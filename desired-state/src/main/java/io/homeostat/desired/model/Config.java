package io.homeostat.desired.model;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Secret;
import org.jspecify.annotations.Nullable;

/** What a plugin is told at Start and Apply: a string or a structure, exactly one of them. */
public record Config(
        @Doc("Configuration as one string.") @Secret @Nullable
        String string,

        @Doc("Configuration as a structure.") @Secret @Nullable
        ObjectNode struct) {

    /** Never the values: they may be secret. */
    @Override
    public String toString() {
        return struct == null ? "Config[string]" : "Config[struct]";
    }
}
