package io.homeostat.desired.source;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import java.util.Optional;

/**
 * Bounds of how many things a message consists, before a document is made of it: a value takes two bytes in a message, and a hundred
 * times that in a document that is being read.
 */
final class ManifestSize {
    /** As many as a YAML document may have keys and values. */
    static final int MOST = 100_000;

    static final ManifestReader.Result REFUSED = new ManifestReader.Result(
            Optional.empty(),
            ImmutableList.of(new ManifestReader.Problem(
                    "manifest",
                    "more than " + MOST
                            + " arguments, rules, and keys and values of a configuration; write fewer, or send the configuration as a"
                            + " string")));

    private ManifestSize() {}

    static boolean isTooMuch(ConfigurePlugin message) {
        long parts = (long) message.getPlugin().getArgumentsCount()
                + message.getManifest().getExecutionModel().getRulesCount()
                + parts(message.getManifest().getStructConfig());
        return parts > MOST;
    }

    private static long parts(Struct struct) {
        return struct.getFieldsMap().values().stream()
                .mapToLong(value -> 1 + parts(value))
                .sum();
    }

    private static long parts(Value value) {
        return switch (value.getKindCase()) {
            case STRUCT_VALUE -> 1 + parts(value.getStructValue());
            case LIST_VALUE ->
                1
                        + value.getListValue().getValuesList().stream()
                                .mapToLong(ManifestSize::parts)
                                .sum();
            default -> 1;
        };
    }
}
