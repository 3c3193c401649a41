package io.homeostat.desired.yaml;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadWorkload;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import java.util.List;
import org.junit.jupiter.api.Test;

final class DocumentPlacesTest {
    private static final String TEXT = """
            apiVersion: homeostat.io/v1
            kind: Process
            metadata: {name: a}
            spec: {install: local, entryPoint: /bin/a}
            ---
            # The second one.
            apiVersion: homeostat.io/v1
            kind: Task
            metadata: {name: b}
            spec:
              driver: x
              config:
                list:
                  - one
                  - {key: value, "other": [1, 2]}
                block: &anchor
                  inner: 1
                again: *anchor
            """;

    private static final Texts TEXTS = DocumentReader.collect(List.of(new Input.Text("b.yaml", "b.yaml", null, TEXT)));

    private static String at(Object... path) {
        ReadWorkload second = DocumentReader.parse(TEXTS).workloads().get(1);
        return new DocumentPlaces(TEXTS)
                .problem(second, ImmutableList.copyOf(path), "no")
                .toString();
    }

    @Test
    void aFieldIsWhereItsKeyIs() {
        assertEquals("b.yaml:12:3: spec.config: no", at("spec", "config"));
        assertEquals("b.yaml:17:7: spec.config.block.inner: no", at("spec", "config", "block", "inner"));
    }

    @Test
    void anElementIsWhereItBegins() {
        assertEquals("b.yaml:14:9: spec.config.list[0]: no", at("spec", "config", "list", 0));
        assertEquals("b.yaml:15:35: spec.config.list[1].other[1]: no", at("spec", "config", "list", 1, "other", 1));
    }

    @Test
    void whatStandsBehindAnAliasIsWhereItWasWritten() {
        assertEquals("b.yaml:17:7: spec.config.again.inner: no", at("spec", "config", "again", "inner"));
    }

    @Test
    void whatIsNotThereIsWhereItShouldBe() {
        assertEquals("b.yaml:13:5: spec.config.list[7]: no", at("spec", "config", "list", 7));
        assertEquals("b.yaml:10:1: spec.limits.cpu: no", at("spec", "limits", "cpu"));
        assertEquals("b.yaml:7:1: labels: no", at("labels"));
    }

    @Test
    void ofATextThatIsNotAtHandTheDocumentIsNamed() {
        ReadWorkload second = DocumentReader.parse(TEXTS).workloads().get(1);
        assertEquals(
                "b.yaml:7:1: spec.config: no",
                new DocumentPlaces(Texts.NONE)
                        .problem(second, List.of("spec", "config"), "no")
                        .toString());
    }
}
