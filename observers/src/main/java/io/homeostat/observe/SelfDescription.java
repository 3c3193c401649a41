package io.homeostat.observe;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import java.util.function.UnaryOperator;

/**
 * What a workload says of itself when it is asked, beyond its health; the same for people and for programs.
 *
 * @param name of its member in JSON
 * @param sections for people
 */
public record SelfDescription(String name, ObjectNode json, ImmutableList<Section> sections) {
    /** Lines under a title. */
    public record Section(String title, ImmutableList<String> lines) {}

    /** The same with its words changed, but not the names of its members. */
    public SelfDescription map(UnaryOperator<String> words) {
        return new SelfDescription(
                name,
                (ObjectNode) map(json, words),
                sections.stream()
                        .map(section -> new Section(
                                section.title(),
                                section.lines().stream().map(words).collect(ImmutableList.toImmutableList())))
                        .collect(ImmutableList.toImmutableList()));
    }

    private static JsonNode map(JsonNode node, UnaryOperator<String> words) {
        JsonNodeFactory json = JsonNodeFactory.instance;
        if (node.isTextual()) {
            return json.textNode(words.apply(node.textValue()));
        }
        if (node.isObject()) {
            ObjectNode mapped = json.objectNode();
            node.properties().forEach(member -> mapped.set(member.getKey(), map(member.getValue(), words)));
            return mapped;
        }
        if (node.isArray()) {
            ArrayNode mapped = json.arrayNode();
            node.forEach(element -> mapped.add(map(element, words)));
            return mapped;
        }
        return node;
    }
}
