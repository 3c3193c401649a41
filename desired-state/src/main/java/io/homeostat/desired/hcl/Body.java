package io.homeostat.desired.hcl;

import io.homeostat.desired.hcl.SchemaNode.Keyed;
import io.homeostat.desired.yaml.Suggestion;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What stands in a body, sorted by what its schema has: values of attributes, and blocks.
 *
 * @param attributes by name
 * @param blocks in the order they are written
 */
record Body(List<Object> path, Map<String, Located> attributes, List<Block> blocks, Map<String, List<Object>> places) {
    /** This key is nobody's: what it has is a comment. */
    static final String COMMENT = "//";

    /** @param labels the keys that lead to it */
    record Block(String name, List<String> labels, Located body) {}

    List<Block> blocks(String name) {
        return blocks.stream().filter(each -> each.name().equals(name)).toList();
    }

    /** Of a key, or of the body when the key is missing. */
    List<Object> place(String name) {
        return places.getOrDefault(name, path);
    }

    static Body read(Located located, SchemaNode schema, Problems problems) {
        return new Reader(schema, problems).read(located);
    }

    private static final class Reader {
        private final Problems problems;
        private final Map<String, SchemaNode.Attribute> attributeSchemas = new LinkedHashMap<>();
        private final Set<String> required = new LinkedHashSet<>();
        private final Map<String, Keyed> blockSchemas = new LinkedHashMap<>();

        private final Map<String, Located> attributes = new LinkedHashMap<>();
        private final List<Block> blocks = new ArrayList<>();
        private final Map<String, List<Object>> places = new LinkedHashMap<>();

        private Reader(SchemaNode schema, Problems problems) {
            this.problems = problems;
            schema.forEachInBody(each -> {
                if (each instanceof SchemaNode.Attribute attribute) {
                    attributeSchemas.put(attribute.name(), attribute);
                    if (attribute.required()) {
                        required.add(attribute.name());
                    }
                } else {
                    blockSchemas.put(each.name(), each);
                }
            });
        }

        private record Entry(String name, Located value) {}

        private Body read(Located located) {
            for (Entry each : entries(located, "a map of keys and values")) {
                String name = each.name();
                if (attributeSchemas.containsKey(name)) {
                    attribute(each);
                } else if (blockSchemas.containsKey(name)) {
                    List<String> labels =
                            blockSchemas.get(name) instanceof SchemaNode.Blocks schema ? schema.labels() : List.of();
                    places.putIfAbsent(name, each.value().path());
                    block(name, each.value(), labels, List.of());
                } else if (!name.equals(COMMENT)) {
                    unknown(each);
                }
            }
            for (String name : required) {
                if (!attributes.containsKey(name)) {
                    problems.add(located.path(), "lacks \"" + name + "\", which is required");
                }
            }
            return new Body(located.path(), attributes, blocks, places);
        }

        private void attribute(Entry entry) {
            places.putIfAbsent(entry.name(), entry.value().path());
            if (attributes.putIfAbsent(entry.name(), entry.value()) != null) {
                problems.add(entry.value().path(), "is set twice: leave one out");
            }
        }

        private void unknown(Entry entry) {
            List<String> known = new ArrayList<>(attributeSchemas.keySet());
            known.addAll(blockSchemas.keySet());
            Optional<String> meant = Suggestion.of(entry.name(), known);
            problems.add(
                    entry.value().path(),
                    "is no key that this driver knows here"
                            + meant.map(each -> "; did you mean \"" + each + "\"?")
                                    .orElse(known.isEmpty() ? "" : "; it knows " + listed(known)));
        }

        private static String listed(List<String> names) {
            List<String> first = names.stream().distinct().sorted().limit(30).toList();
            return String.join(", ", first) + (first.size() < names.size() ? " and more" : "");
        }

        /** Of an object, or of a list of objects as if they were one. */
        private List<Entry> entries(Located located, String wanted) {
            List<Entry> entries = new ArrayList<>();
            switch (located.config()) {
                case null -> {}
                case Map<?, ?> map -> addEntries(located, map, entries);
                case List<?> list -> {
                    for (int i = 0; i < list.size(); i++) {
                        Located element = located.below(i, list.get(i));
                        if (element.config() instanceof Map<?, ?> map) {
                            addEntries(element, map, entries);
                        } else {
                            problems.add(element.path(), "should be " + wanted);
                        }
                    }
                }
                default -> problems.add(located.path(), "should be " + wanted + ", or a list of such maps");
            }
            return entries;
        }

        private static void addEntries(Located located, Map<?, ?> map, List<Entry> entries) {
            map.forEach((key, value) -> {
                String name = String.valueOf(key);
                entries.add(new Entry(name, located.below(name, value)));
            });
        }

        private void block(String name, Located value, List<String> labelsLeft, List<String> labels) {
            if (!labelsLeft.isEmpty()) {
                String label = labelsLeft.getFirst();
                List<Entry> entries = entries(value, "a map whose keys are each a " + label);
                if (entries.isEmpty()) {
                    problems.add(value.path(), "should have at least one key, which is its " + label);
                }
                for (Entry each : entries) {
                    List<String> longer = new ArrayList<>(labels);
                    longer.add(each.name());
                    block(name, each.value(), labelsLeft.subList(1, labelsLeft.size()), longer);
                }
                return;
            }
            switch (value.config()) {
                case null -> {}
                case Map<?, ?> _ -> blocks.add(new Block(name, labels, value));
                case List<?> list -> {
                    for (int i = 0; i < list.size(); i++) {
                        blocks.add(new Block(name, labels, value.below(i, list.get(i))));
                    }
                }
                default ->
                    problems.add(value.path(), "should be a block: a map of keys and values, or a list of such maps");
            }
        }
    }
}
