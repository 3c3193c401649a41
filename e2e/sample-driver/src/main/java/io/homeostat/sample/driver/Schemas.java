package io.homeostat.sample.driver;

import io.homeostat.proto.nomad.hclspec.Attr;
import io.homeostat.proto.nomad.hclspec.Block;
import io.homeostat.proto.nomad.hclspec.Default;
import io.homeostat.proto.nomad.hclspec.Literal;
import io.homeostat.proto.nomad.hclspec.Object;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.util.Map;

/** Which configuration this driver takes, as it tells its host. */
final class Schemas {
    private Schemas() {}

    /** The plugin's own. */
    static Spec plugin() {
        return object(Map.of(
                "enabled", byDefault(attr("enabled", "bool", false), "true"),
                "faults", attr("faults", "list(string)", false),
                "greeting", attr("greeting", "string", false)));
    }

    /** A task's. */
    static Spec task() {
        return object(Map.of(
                "command", attr("command", "string", true),
                "args", attr("args", "list(string)", false),
                "labels", attr("labels", "map(string)", false),
                "limits_hint",
                        Spec.newBuilder()
                                .setBlockValue(Block.newBuilder()
                                        .setName("limits_hint")
                                        .setNested(
                                                object(Map.of("nice", byDefault(attr("nice", "number", false), "0")))))
                                .build(),
                "faults", attr("faults", "list(string)", false)));
    }

    private static Spec object(Map<String, Spec> keys) {
        return Spec.newBuilder()
                .setObject(Object.newBuilder().putAllAttributes(keys))
                .build();
    }

    private static Spec attr(String name, String type, boolean required) {
        return Spec.newBuilder()
                .setAttr(Attr.newBuilder().setName(name).setType(type).setRequired(required))
                .build();
    }

    private static Spec byDefault(Spec primary, String literal) {
        return Spec.newBuilder()
                .setDefault(Default.newBuilder()
                        .setPrimary(primary)
                        .setDefault(Spec.newBuilder()
                                .setLiteral(Literal.newBuilder().setValue(literal))))
                .build();
    }
}
