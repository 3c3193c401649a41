package io.homeostat.observe;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.ListValue;
import com.google.protobuf.NullValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;

/** JSON as protobuf's own types for it, which know one kind of number. */
final class Structs {
    private Structs() {}

    static Struct of(JsonNode object) {
        Struct.Builder struct = Struct.newBuilder();
        object.properties().forEach(field -> struct.putFields(field.getKey(), value(field.getValue())));
        return struct.build();
    }

    private static Value value(JsonNode json) {
        Value.Builder value = Value.newBuilder();
        switch (json.getNodeType()) {
            case OBJECT -> value.setStructValue(of(json));
            case ARRAY -> {
                ListValue.Builder list = ListValue.newBuilder();
                json.forEach(element -> list.addValues(value(element)));
                value.setListValue(list);
            }
            case NUMBER -> value.setNumberValue(json.doubleValue());
            case BOOLEAN -> value.setBoolValue(json.booleanValue());
            case NULL, MISSING -> value.setNullValue(NullValue.NULL_VALUE);
            default -> value.setStringValue(json.asText());
        }
        return value.build();
    }
}
