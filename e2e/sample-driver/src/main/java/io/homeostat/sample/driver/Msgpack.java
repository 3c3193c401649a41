package io.homeostat.sample.driver;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.Value;

/** Configuration as it comes: one msgpack map with strings as keys. */
final class Msgpack {
    private final Map<String, Value> values;

    private Msgpack(Map<String, Value> values) {
        this.values = values;
    }

    /** Nothing at all is an empty map. Throws IllegalArgumentException for anything that is not a map with strings as keys. */
    static Msgpack read(ByteString bytes) {
        if (bytes.isEmpty()) {
            return new Msgpack(Map.of());
        }
        try (MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(bytes.toByteArray())) {
            Value value = unpacker.unpackValue();
            if (unpacker.hasNext()) {
                throw new IllegalArgumentException("something follows the configuration's msgpack value");
            }
            return of(value);
        } catch (IOException | RuntimeException e) {
            throw new IllegalArgumentException("the configuration is no msgpack map: " + e.getMessage(), e);
        }
    }

    private static Msgpack of(Value value) {
        Map<String, Value> values = new LinkedHashMap<>();
        if (!value.isNilValue()) {
            value.asMapValue()
                    .map()
                    .forEach((key, one) -> values.put(key.asStringValue().asString(), one));
        }
        return new Msgpack(values);
    }

    /** A flat map of strings, as {@link #read} reads it. */
    static ByteString write(Map<String, String> strings) {
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            packer.packMapHeader(strings.size());
            for (Map.Entry<String, String> one : strings.entrySet()) {
                packer.packString(one.getKey());
                packer.packString(one.getValue());
            }
            return ByteString.copyFrom(packer.toByteArray());
        } catch (IOException e) {
            throw new IllegalStateException("memory can't be written to", e);
        }
    }

    /** Throws IllegalArgumentException when it is not given. */
    String required(String key) {
        String text = text(key, null);
        if (text == null) {
            throw new IllegalArgumentException("the configuration lacks " + key);
        }
        return text;
    }

    /** The strings whose keys begin so, by what follows in them. */
    Map<String, String> textsBelow(String prefix) {
        Map<String, String> texts = new LinkedHashMap<>();
        values.forEach((key, value) -> {
            if (key.startsWith(prefix)) {
                texts.put(key.substring(prefix.length()), value.asStringValue().asString());
            }
        });
        return texts;
    }

    @Nullable
    String text(String key, @Nullable String otherwise) {
        Value value = given(key);
        return value == null
                ? otherwise
                : typed(key, "a string", () -> value.asStringValue().asString());
    }

    boolean flag(String key, boolean otherwise) {
        Value value = given(key);
        return value == null
                ? otherwise
                : typed(key, "a bool", () -> value.asBooleanValue().getBoolean());
    }

    int number(String key, int otherwise) {
        Value value = given(key);
        return value == null
                ? otherwise
                : typed(key, "an int", () -> value.asIntegerValue().asInt());
    }

    List<String> texts(String key) {
        Value value = given(key);
        return value == null
                ? List.of()
                : typed(
                        key,
                        "a list of strings",
                        () -> value.asArrayValue().list().stream()
                                .map(one -> one.asStringValue().asString())
                                .toList());
    }

    Map<String, String> textByKey(String key) {
        Value value = given(key);
        if (value == null) {
            return Map.of();
        }
        return typed(key, "a map of strings", () -> {
            Map<String, String> texts = new LinkedHashMap<>();
            value.asMapValue()
                    .map()
                    .forEach((name, one) -> texts.put(
                            name.asStringValue().asString(), one.asStringValue().asString()));
            return Map.copyOf(texts);
        });
    }

    /** The block of that name; an empty one when there is none. */
    Msgpack block(String key) {
        Value value = given(key);
        return value == null ? new Msgpack(Map.of()) : typed(key, "a block", () -> of(value));
    }

    private @Nullable Value given(String key) {
        Value value = values.get(key);
        return value == null || value.isNilValue() ? null : value;
    }

    private interface Reading<T> {
        T value();
    }

    private static <T> T typed(String key, String type, Reading<T> reading) {
        try {
            return reading.value();
        } catch (RuntimeException e) {
            throw new IllegalArgumentException(key + " is not " + type + ": " + e.getMessage(), e);
        }
    }
}
