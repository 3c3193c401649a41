package io.homeostat.reconcile.agent.nomad;

import io.homeostat.proto.nomad.hclspec.Attr;
import io.homeostat.proto.nomad.hclspec.Block;
import io.homeostat.proto.nomad.hclspec.Default;
import io.homeostat.proto.nomad.hclspec.Literal;
import io.homeostat.proto.nomad.hclspec.Object;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.util.Map;

/** Builds schemas as Nomad takes them. */
final class Specs {
    private Specs() {}

    static Spec object(Map<String, Spec> keys) {
        return Spec.newBuilder()
                .setObject(Object.newBuilder().putAllAttributes(keys))
                .build();
    }

    static Spec attr(String name, String type) {
        return attr(name, type, false);
    }

    static Spec required(String name, String type) {
        return attr(name, type, true);
    }

    private static Spec attr(String name, String type, boolean required) {
        return Spec.newBuilder()
                .setAttr(Attr.newBuilder().setName(name).setType(type).setRequired(required))
                .build();
    }

    static Spec block(String name, Spec nested) {
        return Spec.newBuilder()
                .setBlockValue(Block.newBuilder().setName(name).setNested(nested))
                .build();
    }

    /** @param literal an expression of HCL */
    static Spec byDefault(Spec primary, String literal) {
        return Spec.newBuilder()
                .setDefault(Default.newBuilder()
                        .setPrimary(primary)
                        .setDefault(Spec.newBuilder()
                                .setLiteral(Literal.newBuilder().setValue(literal))))
                .build();
    }
}
