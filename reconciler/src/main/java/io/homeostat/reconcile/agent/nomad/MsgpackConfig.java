package io.homeostat.reconcile.agent.nomad;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.state.RecordCodec;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.Value;

/** A configuration as it arrives: a msgpack map. Nil is absent. Each method throws IllegalArgumentException for another type than is wanted. */
final class MsgpackConfig {
    private final Map<String, Value> values = new HashMap<>();

    private MsgpackConfig(Value value) {
        if (!value.isNilValue()) {
            value.asMapValue().map().forEach((key, one) -> {
                if (!one.isNilValue()) {
                    values.put(key.asStringValue().asString(), one);
                }
            });
        }
    }

    /** Nothing at all is an empty map. */
    static MsgpackConfig read(ByteString bytes) {
        if (bytes.isEmpty()) {
            return new MsgpackConfig(org.msgpack.value.ValueFactory.newNil());
        }
        try {
            return RecordCodec.foreign(() -> {
                requireAllOf(bytes);
                try (MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(bytes.toByteArray())) {
                    return new MsgpackConfig(unpacker.unpackValue());
                }
            });
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("the configuration is no msgpack map: " + e.getMessage(), e);
        }
    }

    /** Makes sure that all is there: an array is made as long as its header says, which may be 2 billion. */
    private static void requireAllOf(ByteString bytes) throws IOException {
        try (MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(bytes.toByteArray())) {
            for (long values = 1; values > 0; values--) {
                switch (unpacker.getNextFormat().getValueType()) {
                    case ARRAY -> values += unpacker.unpackArrayHeader();
                    case MAP -> values += 2L * unpacker.unpackMapHeader();
                    default -> unpacker.skipValue();
                }
                if (values > bytes.size()) {
                    throw new IllegalArgumentException("it says that it has more than it has");
                }
            }
        }
    }

    /** Empty when it is absent. */
    String text(String key) {
        return value(key, "a string", one -> one.asStringValue().asString(), "");
    }

    boolean flag(String key) {
        return value(key, "a bool", one -> one.asBooleanValue().getBoolean(), false);
    }

    ImmutableList<String> texts(String key) {
        return value(
                key,
                "a list of strings",
                one -> one.asArrayValue().list().stream()
                        .map(text -> text.asStringValue().asString())
                        .collect(ImmutableList.toImmutableList()),
                ImmutableList.of());
    }

    ImmutableMap<String, String> textByKey(String key) {
        return value(
                key,
                "a map of strings",
                one -> one.asMapValue().map().entrySet().stream()
                        .collect(ImmutableMap.toImmutableMap(
                                entry -> entry.getKey().asStringValue().asString(),
                                entry -> entry.getValue().asStringValue().asString())),
                ImmutableMap.of());
    }

    /** The block of that name; null when there is none. */
    @Nullable
    MsgpackConfig block(String key) {
        Value value = values.get(key);
        return value == null ? null : value(key, "a block", MsgpackConfig::new, this);
    }

    private <T> T value(String key, String type, Function<Value, T> reading, T otherwise) {
        Value value = values.get(key);
        if (value == null) {
            return otherwise;
        }
        try {
            return reading.apply(value);
        } catch (RuntimeException e) {
            throw new IllegalArgumentException(key + " is not " + type, e);
        }
    }
}
