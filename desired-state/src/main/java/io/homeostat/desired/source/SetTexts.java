package io.homeostat.desired.source;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import java.util.Optional;
import java.util.function.Function;

/** The texts of published sets. */
public final class SetTexts {
    private SetTexts() {}

    /**
     * Reads those of one set.
     *
     * @param name where the set is; documents come from there and their path in the set
     * @param choice which of them count
     */
    public static ReadResult read(String name, ImmutableSortedMap<String, String> documents, Choice choice) {
        ImmutableList<Input.Text> texts = documents.entrySet().stream()
                .map(document -> new Input.Text(origin(name, document.getKey()), name, null, document.getValue()))
                .collect(ImmutableList.toImmutableList());
        return DocumentReader.readAll(texts, choice);
    }

    /**
     * What of the sets that are stored does not count for a machine.
     *
     * @param choice which documents of a source do
     */
    public static ImmutableList<NotHere> notHere(StateReader state, Function<SourceName, Choice> choice) {
        ImmutableList.Builder<NotHere> left = ImmutableList.builder();
        for (StoredSet.Standing standing : state.publishedSets()) {
            Optional<StoredSet> set = standing.set();
            if (set.isPresent()) {
                left.addAll(read(
                                set.get().name(),
                                state.publishedDocuments(standing.source()),
                                choice.apply(standing.source()))
                        .notHere());
            }
        }
        return left.build();
    }

    /** YAML that is published as one file is that file. */
    private static String origin(String name, String document) {
        return name.endsWith("/" + document) ? name : name + "/" + document;
    }
}
