package io.homeostat.desired.hcl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.proto.nomad.hclspec.Attr;
import io.homeostat.proto.nomad.hclspec.BlockMap;
import io.homeostat.proto.nomad.hclspec.Default;
import io.homeostat.proto.nomad.hclspec.Literal;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what a driver's schema may cost whoever reads it. */
class DriverSchemaTest {
    /** The stack of the agent's threads, in bytes. */
    private static final int STACK = 256 << 10;

    private static Spec attribute(String type) {
        return Spec.newBuilder()
                .setAttr(Attr.newBuilder().setName("k").setType(type))
                .build();
    }

    private static Spec withDefault(String literal) {
        return Spec.newBuilder()
                .setDefault(Default.newBuilder()
                        .setPrimary(attribute("any"))
                        .setDefault(Spec.newBuilder()
                                .setLiteral(Literal.newBuilder().setValue(literal))))
                .build();
    }

    /** The result of a call on a thread like the agent's. */
    private static <T> T onSmallStack(Callable<T> call) throws Exception {
        FutureTask<T> task = new FutureTask<>(call);
        new Thread(null, task, "small stack", STACK).start();
        return task.get();
    }

    /** Why a schema can't be used; empty when it can be. */
    private static String refusal(Spec schema) throws Exception {
        return onSmallStack(() -> {
            try {
                DriverSchema read = DriverSchema.of(schema);
                read.describe();
                read.convert(Map.of());
                return "";
            } catch (SchemaException e) {
                return String.valueOf(e.getMessage());
            }
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {60, 150, 30_000})
    void aTypeThatIsNestedTooDeepIsRefused(int levels) throws Exception {
        String refusal = refusal(attribute("list(".repeat(levels) + "string" + ")".repeat(levels)));

        assertTrue(refusal.contains("nested "), refusal);
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '|',
            value = {
                "( | 1 | )",
                "[ | 1 | ]",
                "{a= | 1 | }",
                "`\"${` | x | `}\"`",
                "- | 1 | ``",
                "! | true | ``",
                "true ? | 1 | : 2",
                "upper( | 1 | )",
                "`[for a in [1] : ` | 1 | ]",
                "`[for a in ` | [1] | ` : a]`",
                "`1 == ` | 1 | ``",
                "`\"%{if true}${` | x | `}%{endif}\"`",
                "`[1][` | 0 | ]",
                "[1].* | `` | .*",
            })
    void aLiteralThatIsNestedTooDeepIsRefused(String open, String innermost, String close) throws Exception {
        for (int levels : new int[] {121, 200, 20_000}) {
            String literal = open.repeat(levels) + innermost + close.repeat(levels);
            String refusal = refusal(withDefault(literal));

            assertTrue(refusal.contains("nested "), () -> levels + ": " + refusal);
        }
    }

    @Test
    void labelsOfBlocksCountAsLevels() throws Exception {
        Spec schema = Spec.newBuilder()
                .setBlockMap(BlockMap.newBuilder()
                        .setName("k")
                        .addAllLabels(Collections.nCopies(30_000, "label"))
                        .setNested(attribute("string")))
                .build();

        String refusal = refusal(schema);

        assertTrue(refusal.contains("nested "), refusal);
    }

    @Test
    void whatFitsIsRead() throws Exception {
        assertEquals("", refusal(withDefault("[".repeat(40) + "1 + 2 * 3" + "]".repeat(40))));
    }
}
