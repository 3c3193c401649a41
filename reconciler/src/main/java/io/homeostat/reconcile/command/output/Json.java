package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.yaml.Problem;
import java.io.PrintStream;
import java.util.function.Function;

/** Results for programs: one JSON value a line, fields in the order in which they are put. */
public final class Json {
    private Json() {}

    /** What stands by itself: a result or a message; says first in which version of this interface it is written. */
    public static ObjectNode versioned() {
        return object().put("formatVersion", PlanJson.FORMAT_VERSION);
    }

    public static ObjectNode object() {
        return JsonNodeFactory.instance.objectNode();
    }

    /** Where a document is wrong, and how. */
    public static ObjectNode of(Problem problem) {
        return object().put("file", problem.file())
                .put("line", problem.line())
                .put("column", problem.column())
                .put("message", problem.message());
    }

    public static <T> ArrayNode array(Iterable<T> elements, Function<? super T, ? extends JsonNode> json) {
        ArrayNode array = JsonNodeFactory.instance.arrayNode();
        elements.forEach(element -> array.add(json.apply(element)));
        return array;
    }

    public static ArrayNode texts(Iterable<String> texts) {
        return array(texts, JsonNodeFactory.instance::textNode);
    }

    /** Escapes what is not visible. JSON has it in texts only. */
    private static String escaped(String json) {
        StringBuilder text = new StringBuilder(json.length());
        json.codePoints().forEach(c -> {
            if (VisibleText.isVisible(c)) {
                text.appendCodePoint(c);
            } else {
                Character.toString(c).chars().forEach(unit -> text.append(String.format("\\u%04x", unit)));
            }
        });
        return text.toString();
    }

    public static void print(PrintStream out, JsonNode value) {
        out.println(escaped(value.toString()));
    }
}
