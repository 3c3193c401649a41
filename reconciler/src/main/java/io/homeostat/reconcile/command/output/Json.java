package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintStream;
import java.util.function.Function;

/** Results for programs: one JSON value a line, fields in the order in which they are put. */
public final class Json {
    private Json() {}

    public static ObjectNode object() {
        return JsonNodeFactory.instance.objectNode();
    }

    public static <T> ArrayNode array(Iterable<T> elements, Function<? super T, ? extends JsonNode> json) {
        ArrayNode array = JsonNodeFactory.instance.arrayNode();
        elements.forEach(element -> array.add(json.apply(element)));
        return array;
    }

    public static ArrayNode texts(Iterable<String> texts) {
        return array(texts, JsonNodeFactory.instance::textNode);
    }

    public static void print(PrintStream out, JsonNode value) {
        out.println(value);
    }
}
