package io.homeostat.desired.model;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Keys;

/** On which machines a document applies: one set can be published for all of them. */
@Doc("On which machines a document applies; on all when left out.")
public record Placement(
        @Doc(
                "Labels of agent.yaml, or facts of the host such as os.ID, that the machine must have, each with this value.")
        @Keys(value = Placement.KEY, words = Placement.KEY_IN_WORDS)
        ImmutableSortedMap<String, String> matchLabels,

        @Doc("Labels or facts that it must not have with this value; one that it has is enough to leave it out.")
        @Keys(value = Placement.KEY, words = Placement.KEY_IN_WORDS)
        ImmutableSortedMap<String, String> excludeLabels) {
    static final String KEY = "[A-Za-z0-9]([A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?";
    static final String KEY_IN_WORDS = "letters, digits, '.', '_', '/' or '-'";

    public static final Placement ANYWHERE = new Placement(ImmutableSortedMap.of(), ImmutableSortedMap.of());
}
