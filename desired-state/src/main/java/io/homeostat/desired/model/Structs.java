package io.homeostat.desired.model;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableSortedSet;
import com.google.protobuf.ListValue;
import com.google.protobuf.NullValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import java.util.Map;
import java.util.TreeMap;

/** Between a JSON object and {@code google.protobuf.Struct}, whose every number is a double. */
public final class Structs {
    /** Beyond this not every whole number is a double. */
    private static final double EXACT = 1L << 53;

    private Structs() {}

    /** The structure as the plugin protocol carries it. */
    public static Struct toProto(ObjectNode object) {
        Struct.Builder struct = Struct.newBuilder();
        for (Map.Entry<String, JsonNode> field : object.properties()) {
            struct.putFields(field.getKey(), toValue(field.getValue()));
        }
        return struct.build();
    }

    /** The structure as documents have it: keys sorted, whole numbers without a fraction. */
    public static ObjectNode fromProto(Struct struct) {
        ObjectNode object = JsonNodeFactory.instance.objectNode();
        new TreeMap<>(struct.getFieldsMap()).forEach((key, value) -> object.set(key, toJson(value)));
        return object;
    }

    /** The structure as text that is the same for equal structures, however their keys are ordered. */
    public static String canonical(ObjectNode object) {
        return sorted(object).toString();
    }

    private static JsonNode sorted(JsonNode value) {
        if (value instanceof ArrayNode array) {
            ArrayNode items = JsonNodeFactory.instance.arrayNode(array.size());
            array.forEach(item -> items.add(sorted(item)));
            return items;
        }
        if (value instanceof ObjectNode object) {
            ObjectNode fields = JsonNodeFactory.instance.objectNode();
            ImmutableSortedSet.copyOf(object.fieldNames()).forEach(key -> fields.set(key, sorted(object.path(key))));
            return fields;
        }
        return value;
    }

    private static Value toValue(JsonNode node) {
        Value.Builder value = Value.newBuilder();
        return switch (node.getNodeType()) {
            case OBJECT -> value.setStructValue(toProto((ObjectNode) node)).build();
            case ARRAY -> {
                ListValue.Builder list = ListValue.newBuilder();
                for (JsonNode element : node) {
                    list.addValues(toValue(element));
                }
                yield value.setListValue(list).build();
            }
            case STRING -> value.setStringValue(node.textValue()).build();
            case BOOLEAN -> value.setBoolValue(node.booleanValue()).build();
            case NUMBER -> value.setNumberValue(node.doubleValue()).build();
            case NULL, MISSING -> value.setNullValue(NullValue.NULL_VALUE).build();
            case BINARY, POJO -> throw new IllegalArgumentException("not JSON: " + node.getNodeType());
        };
    }

    private static JsonNode toJson(Value value) {
        JsonNodeFactory json = JsonNodeFactory.instance;
        return switch (value.getKindCase()) {
            case STRUCT_VALUE -> fromProto(value.getStructValue());
            case LIST_VALUE -> {
                var list = json.arrayNode();
                value.getListValue().getValuesList().forEach(element -> list.add(toJson(element)));
                yield list;
            }
            case STRING_VALUE -> json.textNode(value.getStringValue());
            case BOOL_VALUE -> json.booleanNode(value.getBoolValue());
            case NUMBER_VALUE -> number(value.getNumberValue());
            case NULL_VALUE, KIND_NOT_SET -> json.nullNode();
        };
    }

    private static JsonNode number(double number) {
        JsonNodeFactory json = JsonNodeFactory.instance;
        if (number != Math.rint(number) || Math.abs(number) > EXACT || (number == 0 && 1 / number < 0)) {
            return json.numberNode(number);
        }
        long whole = (long) number;
        return whole == (int) whole ? json.numberNode((int) whole) : json.numberNode(whole);
    }
}
