package io.homeostat.desired.model;

import io.homeostat.desired.model.schema.Fields.Bare;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Matches;

/** The value of an environment variable, or where it is. */
public sealed interface EnvValue {
    /** The value itself. */
    @Bare
    record Text(String text) implements EnvValue {
        /** Never the value: it may be secret. */
        @Override
        public String toString() {
            return "Text";
        }
    }

    /** The content of a file. */
    record FromFile(
            @Doc(
                    "The file whose content is the value, without a newline at its end; absolute. Read at each launch, and never stored; another content is a restart.")
            @Matches(value = "/[^\\u0000]*", words = "an absolute path")
            String file)
            implements EnvValue {}
}
