package io.homeostat.desired.model;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Matches;

/** What a workload is called. */
public record Metadata(
        @Doc("The workload's name, unique per kind.")
        @Matches(
                value = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
                words = "a letter or digit, then up to 62 letters, digits, '.', '_' or '-'",
                anyInMessages = true)
        String name,

        @Doc("Free labels to select workloads by.") ImmutableSortedMap<String, String> labels) {}
