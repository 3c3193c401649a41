package io.homeostat.e2e;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** What JSON is made of. */
final class Shapes {
    private Shapes() {}

    static Stream<JsonNode> stream(JsonNode node) {
        return StreamSupport.stream(node.spliterator(), false);
    }

    /** The names of an object's fields, in their order. */
    static List<String> keys(JsonNode object) {
        return object.properties().stream().map(java.util.Map.Entry::getKey).toList();
    }

    static List<String> texts(JsonNode array) {
        return stream(array).map(JsonNode::asText).toList();
    }

    /** Each field with the type of its value: {@code pid:NUMBER}. */
    static List<String> types(JsonNode object) {
        return object.properties().stream()
                .map(field -> field.getKey() + ":" + field.getValue().getNodeType())
                .toList();
    }
}
