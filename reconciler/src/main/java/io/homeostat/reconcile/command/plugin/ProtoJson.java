package io.homeostat.reconcile.command.plugin;

import com.fasterxml.jackson.core.JsonGenerator;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import com.google.protobuf.Timestamp;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Messages in the JSON that protobuf defines for them (protobuf.dev/programming-guides/json), as far as the control plane's messages
 * about states go: no maps, no unsigned numbers, no bytes, of the well-known types only Timestamp. What has its default is left out.
 */
final class ProtoJson {
    private ProtoJson() {}

    static void write(Message message, JsonGenerator json) throws IOException {
        if (message instanceof Timestamp time) {
            json.writeString(
                    Instant.ofEpochSecond(time.getSeconds(), time.getNanos()).toString());
            return;
        }
        json.writeStartObject();
        for (Map.Entry<FieldDescriptor, Object> field : message.getAllFields().entrySet()) {
            json.writeFieldName(field.getKey().getJsonName());
            if (field.getKey().isRepeated()) {
                json.writeStartArray();
                for (Object element : (List<?>) field.getValue()) {
                    value(element, json);
                }
                json.writeEndArray();
            } else {
                value(field.getValue(), json);
            }
        }
        json.writeEndObject();
    }

    private static void value(Object value, JsonGenerator json) throws IOException {
        switch (value) {
            case Message message -> write(message, json);
            case String text -> json.writeString(text);
            case EnumValueDescriptor constant -> json.writeString(constant.getName());
            case Integer number -> json.writeNumber(number);
            // As text: not every number of 64 bits is one of JavaScript's.
            case Long number -> json.writeString(number.toString());
            case Float number -> json.writeNumber(number);
            case Double number -> json.writeNumber(number);
            case Boolean truth -> json.writeBoolean(truth);
            default -> throw new IllegalArgumentException("no JSON for " + value.getClass());
        }
    }
}
