package io.homeostat.desired.model.lifecycle;

import io.homeostat.desired.model.schema.Default;
import io.homeostat.desired.model.schema.Doc;
import io.homeostat.desired.model.schema.Range;

/** How many workloads that have the same value of a label may be down at a time because of changes. */
public record MaxDisruption(
        @Doc("The label; workloads with the same value of it are counted together.") @Range(min = 1)
        String label,

        @Doc("How many of them may be down for a change of this one to begin, itself included.")
        @Default("1")
        @Range(min = 1, max = 100_000)
        int count) {}
