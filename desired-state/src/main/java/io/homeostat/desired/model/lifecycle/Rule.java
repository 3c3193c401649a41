package io.homeostat.desired.model.lifecycle;

import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Range;

/** One comparison of a fact about this host with a value. */
public record Rule(
        @Doc("Where the fact comes from: os (os-release), instance or metadata (metadata server).")
        Scope scope,

        @Doc("The name of the fact, such as ID for os.") @Range(min = 1)
        String attribute,

        @Doc("How the fact is compared.") Operator operator,
        @Doc("What the fact is compared with.") String value) {

    /** Where facts come from. */
    public enum Scope {
        OS,
        INSTANCE,
        METADATA
    }

    /** How a fact is compared with the value of a rule. */
    public enum Operator {
        EQUAL,
        NOT_EQUAL,
        CONTAINS
    }
}
