package io.homeostat.desired.model;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Struct;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** The {@code config_hash} of the plugin protocol: what a control plane compares to know which configuration a plugin has. */
public final class ConfigHash {
    private ConfigHash() {}

    /**
     * Lowercase hexadecimal SHA-256 of a string's UTF-8, or of the serialized {@code google.protobuf.Struct}; empty when
     * there is no configuration. Maps are serialized with their keys sorted, so that equal structures have equal hashes.
     */
    public static String of(@Nullable Config config) {
        if (config == null) {
            return "";
        }
        if (config.struct() != null) {
            return sha256(serialized(Structs.toProto(config.struct())));
        }
        return config.string() == null ? "" : sha256(config.string().getBytes(StandardCharsets.UTF_8));
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
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException("every Java platform has SHA-256", impossible);
        }
    }
}
