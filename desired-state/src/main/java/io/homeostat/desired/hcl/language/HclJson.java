package io.homeostat.desired.hcl.language;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.ObjectOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Values as JSON and back; what JSON says becomes tuples and objects. */
final class HclJson {
    private static final JsonFactory FACTORY = new JsonFactory();

    private HclJson() {}

    static HclValue decode(String text, Budget budget) {
        try (JsonParser parser = FACTORY.createParser(text)) {
            HclValue value = value(parser, parser.nextToken(), budget);
            if (parser.nextToken() != null) {
                throw malformed();
            }
            return value;
        } catch (IOException e) {
            throw malformed();
        }
    }

    private static HclException malformed() {
        return HclException.of("takes valid JSON only");
    }

    private static HclValue value(JsonParser parser, JsonToken token, Budget budget) throws IOException {
        budget.step();
        budget.enter();
        try {
            return switch (token) {
                case VALUE_NULL -> HclValue.NULL;
                case VALUE_TRUE -> HclValue.TRUE;
                case VALUE_FALSE -> HclValue.FALSE;
                case VALUE_STRING -> HclValue.of(parser.getText());
                case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT ->
                    HclValue.of(HclNumber.parse(parser.getText()).orElseThrow(HclJson::malformed));
                case START_ARRAY -> array(parser, budget);
                case START_OBJECT -> object(parser, budget);
                case null, default -> throw malformed();
            };
        } finally {
            budget.leave();
        }
    }

    private static HclValue array(JsonParser parser, Budget budget) throws IOException {
        List<HclValue> elements = new ArrayList<>();
        for (JsonToken next = parser.nextToken(); next != JsonToken.END_ARRAY; next = parser.nextToken()) {
            elements.add(value(parser, next, budget));
        }
        return HclValue.tuple(elements);
    }

    private static HclValue object(JsonParser parser, Budget budget) throws IOException {
        Map<String, HclValue> attributes = new LinkedHashMap<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String name = parser.currentName();
            HclValue value = value(parser, parser.nextToken(), budget);
            HclValue before = attributes.put(name, value);
            if (before != null && !before.type().equals(value.type())) {
                throw malformed();
            }
        }
        return HclValue.object(attributes);
    }

    static String encode(HclValue value) {
        StringBuilder json = new StringBuilder();
        write(value, json);
        return json.toString();
    }

    private static void write(HclValue value, StringBuilder json) {
        if (value.isNull()) {
            json.append("null");
            return;
        }
        switch (value.type()) {
            case Primitive.STRING -> quote(value.text(), json);
            case Primitive.BOOL -> json.append(value.isTrue());
            case Primitive.NUMBER -> {
                if (value.number().isInfinite()) {
                    throw HclException.of("does not take infinity");
                }
                json.append(value.number().text());
            }
            case MapOf _ -> entries(value, json);
            case ObjectOf _ -> entries(value, json);
            case HclType.Special _ -> throw HclException.of("does not take types");
            default -> {
                json.append('[');
                String separator = "";
                for (HclValue each : value.elements()) {
                    json.append(separator);
                    write(each, json);
                    separator = ",";
                }
                json.append(']');
            }
        }
    }

    private static void entries(HclValue value, StringBuilder json) {
        json.append('{');
        String separator = "";
        for (Map.Entry<String, HclValue> each : value.entries().entrySet()) {
            json.append(separator);
            quote(each.getKey(), json);
            json.append(':');
            write(each.getValue(), json);
            separator = ",";
        }
        json.append('}');
    }

    private static void quote(String text, StringBuilder json) {
        json.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> json.append("\\\"");
                case '\\' -> json.append("\\\\");
                case '\b' -> json.append("\\b");
                case '\f' -> json.append("\\f");
                case '\n' -> json.append("\\n");
                case '\r' -> json.append("\\r");
                case '\t' -> json.append("\\t");
                // Safe within HTML, too, as Go writes JSON.
                case '<', '>', '&', '\u2028', '\u2029' -> json.append(String.format("\\u%04x", (int) c));
                default -> json.append(c < ' ' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
            }
        }
        json.append('"');
    }
}
