package io.homeostat.desired.model;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.hash.Hashing;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Struct;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Secret;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** A plugin's configuration, sent with Start and Apply: either a string or a structure. */
public record Config(
        @Doc("Configuration as one string.") @Secret @Nullable
        String string,

        @Doc("Configuration as a structure.") @Secret @Nullable
        ObjectNode struct) {

    /** Never the values: they may be secret. */
    @Override
    public String toString() {
        return struct == null ? "Config[string]" : "Config[struct]";
    }

    /**
     * The {@code config_hash} of the plugin protocol, by which a control plane knows which configuration a plugin has: lowercase
     * hexadecimal SHA-256 of the string's UTF-8, or of the serialized {@code google.protobuf.Struct} with its keys sorted; empty
     * without a configuration.
     */
    public static String hash(@Nullable Config config) {
        if (config == null) {
            return "";
        }
        if (config.struct != null) {
            return sha256(serialized(Structs.toProto(config.struct)));
        }
        return config.string == null ? "" : sha256(config.string.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] serialized(Struct struct) {
        byte[] bytes = new byte[struct.getSerializedSize()];
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        out.useDeterministicSerialization();
        try {
            struct.writeTo(out);
        } catch (IOException impossible) {
            throw new UncheckedIOException("a structure doesn't fit the array of its own size", impossible);
        }
        return bytes;
    }

    private static String sha256(byte[] bytes) {
        return Hashing.sha256().hashBytes(bytes).toString();
    }
}
