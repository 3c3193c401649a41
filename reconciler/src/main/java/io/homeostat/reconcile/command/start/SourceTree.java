package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableList;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.api.lowlevel.Parse;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/** JSON or YAML of others, whose values know their lines. */
record SourceTree(SourceFile file, Node node) {
    /** A key of a mapping, and its value. */
    record Entry(String key, int line, SourceTree value) {
        /** For remarks; without the value, which may be secret and long. */
        void notTaken(Draft draft, String why) {
            draft.notTaken(value.file().path().toString(), line, key, why);
        }
    }

    /** Levels of lists and mappings: each takes a part of the stack. */
    private static final int DEEPEST = 100;

    static SourceTree read(SourceFile file) {
        LoadSettings settings = LoadSettings.builder().build();
        // In JSON a tab is never part of a text, and YAML has none between its words.
        String text = file.text().stripLeading();
        boolean json = text.startsWith("{") || text.startsWith("[");
        text = json ? file.text().replace('\t', ' ') : file.text();
        try {
            int depth = 0;
            for (Event event : new Parse(settings).parseString(text)) {
                switch (event.getEventId()) {
                    case Alias ->
                        throw new CommandFailure(file.path() + " has aliases (*), which are not read; write them out");
                    case MappingStart, SequenceStart -> depth++;
                    case MappingEnd, SequenceEnd -> depth--;
                    default -> {}
                }
                if (depth > DEEPEST) {
                    throw new CommandFailure(file.path() + " is nested deeper than " + DEEPEST
                            + " levels, as nothing that is taken over is");
                }
            }
            return new Compose(settings)
                    .composeString(text)
                    .map(node -> new SourceTree(file, node))
                    .orElseThrow(() -> new CommandFailure(file.path() + " is empty"));
        } catch (MarkedYamlEngineException e) {
            throw file.failure(
                    e.getProblemMark().map(mark -> mark.getLine() + 1).orElse(1),
                    "it is neither JSON nor YAML: " + e.getProblem());
        } catch (YamlEngineException e) {
            throw new CommandFailure(file.path() + " is neither JSON nor YAML in one document", e);
        }
    }

    int line() {
        return node.getStartMark().map(mark -> mark.getLine() + 1).orElse(0);
    }

    CommandFailure failure(String words) {
        return file.failure(line(), words);
    }

    boolean isMapping() {
        return node instanceof MappingNode;
    }

    boolean isList() {
        return node instanceof SequenceNode;
    }

    /** Of a mapping, in its order; of anything else none. */
    ImmutableList<Entry> entries() {
        if (!(node instanceof MappingNode mapping)) {
            return ImmutableList.of();
        }
        ImmutableList.Builder<Entry> entries = ImmutableList.builder();
        for (NodeTuple each : mapping.getValue()) {
            SourceTree key = new SourceTree(file, each.getKeyNode());
            entries.add(new Entry(key.text(), key.line(), new SourceTree(file, each.getValueNode())));
        }
        return entries.build();
    }

    Optional<SourceTree> at(String key) {
        return entries().stream()
                .filter(entry -> entry.key().equals(key) && !entry.value().says(Tag.NULL))
                .map(Entry::value)
                .findFirst();
    }

    /** Of a list; of anything else none. */
    ImmutableList<SourceTree> items() {
        return node instanceof SequenceNode list
                ? list.getValue().stream()
                        .map(item -> new SourceTree(file, item))
                        .collect(ImmutableList.toImmutableList())
                : ImmutableList.of();
    }

    String text() {
        if (node instanceof ScalarNode scalar) {
            return scalar.getValue();
        }
        throw failure("a text or a number is wanted here");
    }

    long number() {
        try {
            return new BigDecimal(text()).longValueExact();
        } catch (NumberFormatException | ArithmeticException e) {
            throw failure("a whole number is wanted here");
        }
    }

    /** Whether it says nothing that would have to be taken over: null, false, 0, or empty. */
    boolean isNothing() {
        if (node instanceof ScalarNode scalar) {
            String text = scalar.getValue();
            return text.isEmpty() || says(Tag.NULL) || text.equals("false") || text.equals("0");
        }
        return entries().stream().allMatch(entry -> entry.value().isNothing())
                && items().stream().allMatch(SourceTree::isNothing);
    }

    private boolean says(Tag tag) {
        return node.getTag().equals(tag);
    }

    /** As maps, lists, texts, numbers and booleans. */
    @Nullable
    Object value() {
        if (isMapping()) {
            Map<String, @Nullable Object> map = new LinkedHashMap<>();
            entries().forEach(entry -> map.put(entry.key(), entry.value().value()));
            return map;
        }
        if (isList()) {
            List<@Nullable Object> list = new ArrayList<>();
            items().forEach(item -> list.add(item.value()));
            return list;
        }
        if (says(Tag.NULL)) {
            return null;
        }
        if (says(Tag.BOOL)) {
            return Boolean.valueOf(text());
        }
        return says(Tag.INT) || says(Tag.FLOAT) ? new BigDecimal(text()) : text();
    }
}
