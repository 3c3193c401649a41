package io.homeostat.desired.hcl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What Nomad's own conversion made of configurations, and ours has to. */
class VectorsTest {
    /** A key that Nomad names in an error. */
    private static final Pattern NAMED =
            Pattern.compile("(?:argument|attribute|type is named|block of type|type) \"([^\"]+)\"");

    static Stream<Vector> vectors() {
        return Vector.read("/hcl/hclspec.jsonl").stream();
    }

    @ParameterizedTest
    @MethodSource("vectors")
    void aConfigurationBecomesTheBytesThatNomadSends(Vector vector) {
        String outcome = Vector.outcome(vector.spec(), vector.config(), vector.variables());
        if (vector.error().isEmpty()) {
            assertEquals(vector.msgpack(), outcome);
            return;
        }
        assertTrue(outcome.startsWith("!"), outcome);
        Matcher named = NAMED.matcher(vector.error());
        while (named.find()) {
            assertTrue(outcome.contains(named.group(1)), outcome + " should name " + named.group(1));
        }
    }
}
