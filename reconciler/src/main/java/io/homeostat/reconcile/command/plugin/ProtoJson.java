package io.homeostat.reconcile.command.plugin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.DoubleNode;
import com.fasterxml.jackson.databind.node.FloatNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Message;
import com.google.protobuf.Timestamp;
import io.homeostat.reconcile.command.output.Json;
import java.time.Instant;
import java.util.List;

/**
 * Messages in protobuf's JSON (protobuf.dev/programming-guides/json), as far as the control plane's messages about states need it: no
 * maps, unsigned numbers or bytes, no well-known types but Timestamp. Defaults are left out.
 */
final class ProtoJson {
    private ProtoJson() {}

    static JsonNode of(Message message) {
        if (message instanceof Timestamp time) {
            return TextNode.valueOf(
                    Instant.ofEpochSecond(time.getSeconds(), time.getNanos()).toString());
        }
        ObjectNode json = Json.object();
        message.getAllFields()
                .forEach((field, value) -> json.set(
                        field.getJsonName(),
                        field.isRepeated() ? Json.array((List<?>) value, ProtoJson::value) : value(value)));
        return json;
    }

    private static JsonNode value(Object value) {
        return switch (value) {
            case Message message -> of(message);
            case String text -> TextNode.valueOf(text);
            case EnumValueDescriptor constant -> TextNode.valueOf(constant.getName());
            case Integer number -> IntNode.valueOf(number);
            // As text: not every number of 64 bits is one of JavaScript's.
            case Long number -> TextNode.valueOf(number.toString());
            case Float number -> FloatNode.valueOf(number);
            case Double number -> DoubleNode.valueOf(number);
            case Boolean truth -> BooleanNode.valueOf(truth);
            default -> throw new IllegalArgumentException("no JSON for " + value.getClass());
        };
    }
}
