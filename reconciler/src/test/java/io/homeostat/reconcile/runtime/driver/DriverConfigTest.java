package io.homeostat.reconcile.runtime.driver;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.FieldCheck;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.proto.nomad.hclspec.Attr;
import io.homeostat.proto.nomad.hclspec.Object;
import io.homeostat.proto.nomad.hclspec.Spec;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the conversion of configuration by the schema of a driver. */
class DriverConfigTest {
    private static final Spec SCHEMA = Spec.newBuilder()
            .setObject(Object.newBuilder()
                    .putAttributes("path", attribute("path", "string", true))
                    .putAttributes("count", attribute("count", "number", false)))
            .build();

    private static final Spec UNUSABLE = attribute("path", "no type", false);

    private static Spec attribute(String name, String type, boolean required) {
        return Spec.newBuilder()
                .setAttr(Attr.newBuilder().setName(name).setType(type).setRequired(required))
                .build();
    }

    private static ObjectNode json() {
        return JsonNodeFactory.instance.objectNode();
    }

    @Test
    void whatFitsIsHandedOverInMsgpack() throws Exception {
        byte[] both = DriverConfig.converted(
                "spec.config", SCHEMA, json().put("path", "a").put("count", 1));
        byte[] one = DriverConfig.converted("spec.config", SCHEMA, json().put("path", "a"));

        assertTrue(new String(both, java.nio.charset.StandardCharsets.ISO_8859_1).contains("path"));
        assertTrue(one.length > 0 && both.length > 0);
        assertArrayEquals(one, DriverConfig.converted("spec.config", SCHEMA, json().put("path", "a")));
        assertEquals(
                List.of(), DriverConfig.checked(SCHEMA, json().put("path", "a")).problems());
    }

    @Test
    void allThatIsWrongIsNamedWithItsField() {
        ObjectNode wrong = json().put("path", "a").put("count", "many").put("other", 1);

        DriverFailure failure =
                assertThrows(DriverFailure.class, () -> DriverConfig.converted("spec.config", SCHEMA, wrong));

        assertEquals(FailureCause.Kind.CONTENT, failure.failureCause().kind());
        assertTrue(failure.words().contains("spec.config.count: "), failure.words());
        assertTrue(failure.words().contains("; "), failure.words());
        FieldCheck check = DriverConfig.checked(SCHEMA, wrong);
        assertEquals(2, check.problems().size());
        assertTrue(check.problems().stream()
                .anyMatch(problem -> problem.path().equals(ImmutableList.of("spec", "config", "count"))));
        assertEquals("", check.unchecked());
        assertEquals(DriverConfig.FIELD, check.field());
    }

    @Test
    void nothingThatIsDeclaredIsAnEmptyConfiguration() {
        DriverFailure failure =
                assertThrows(DriverFailure.class, () -> DriverConfig.converted("spec.config", SCHEMA, null));

        assertTrue(failure.words().startsWith("spec.config"), failure.words());
        assertEquals(1, DriverConfig.checked(SCHEMA, null).problems().size());
    }

    @Test
    void aSchemaThatCannotBeUsedChecksNothingAndConvertsNothing() {
        FieldCheck check = DriverConfig.checked(UNUSABLE, json());

        assertEquals(List.of(), check.problems());
        assertFalse(check.unchecked().isEmpty());
        assertThrows(DriverFailure.class, () -> DriverConfig.converted("spec.config", UNUSABLE, json()));
    }
}
