package io.homeostat.desired.yaml;

import com.fasterxml.jackson.databind.node.ArrayNode;

/** A rule that takes more than the one field: how the reader checks it and how the JSON Schema says it. */
interface Constraint {
    /** Reports what breaks the rule. Fields that are wrong in themselves are null in {@code record} and no reason to complain again. */
    void check(Bound record);

    /** Adds subschemas that all have to hold; none where JSON Schema has no words for the rule. */
    default void schema(ArrayNode allOf) {}
}
