package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Keys;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

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
    private static final String FACTS = "os\\.|host\\.|instance\\.";

    static final String KEY = "[A-Za-z0-9]([A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?";
    static final String KEY_IN_WORDS = "letters, digits, '.', '_', '/' or '-'";

    /** Keys that agent.yaml may give labels: what begins so is a fact of the host, which nobody may make up. */
    static final String OWN_KEY = "(?!" + FACTS + ")" + KEY;

    static final String OWN_KEY_IN_WORDS =
            KEY_IN_WORDS + ", and not os., host. or instance. at its beginning, which are facts of the host";

    public static final Placement ANYWHERE = new Placement(ImmutableSortedMap.of(), ImmutableSortedMap.of());

    /** Why a document does not apply on a machine with these labels and facts; empty when it does. */
    public Optional<String> refusal(Map<String, String> labels) {
        return Stream.concat(
                        matchLabels.entrySet().stream()
                                .filter(wanted -> !wanted.getValue().equals(labels.get(wanted.getKey())))
                                .map(wanted -> "placement.matchLabels asks for " + words(wanted)
                                        + ", and this machine has " + has(wanted.getKey(), labels)),
                        excludeLabels.entrySet().stream()
                                .filter(excluded -> excluded.getValue().equals(labels.get(excluded.getKey())))
                                .map(excluded -> "placement.excludeLabels leaves out " + words(excluded)
                                        + ", which this machine has"))
                .findFirst();
    }

    /** Why a document applies on a machine with these labels and facts that it does not refuse: each label that it names. */
    public ImmutableList<String> reasons(Map<String, String> labels) {
        return Stream.concat(
                        matchLabels.entrySet().stream()
                                .map(wanted ->
                                        "placement.matchLabels asks for " + words(wanted) + ", which this machine has"),
                        excludeLabels.entrySet().stream()
                                .map(excluded -> "placement.excludeLabels leaves out " + words(excluded)
                                        + ", and this machine has " + has(excluded.getKey(), labels)))
                .collect(ImmutableList.toImmutableList());
    }

    /** Whether no machine can have both, as far as that can be told without one. */
    public boolean neverMeets(Placement other) {
        return contradicts(other) || other.contradicts(this);
    }

    private boolean contradicts(Placement other) {
        return matchLabels.entrySet().stream()
                .anyMatch(wanted -> wanted.getValue().equals(other.excludeLabels.get(wanted.getKey()))
                        || !wanted.getValue()
                                .equals(other.matchLabels.getOrDefault(wanted.getKey(), wanted.getValue())));
    }

    private static String has(String key, Map<String, String> labels) {
        return labels.containsKey(key) ? "'" + labels.get(key) + "'" : "no such label";
    }

    private static String words(Map.Entry<String, String> label) {
        return label.getKey() + " '" + label.getValue() + "'";
    }
}
