package io.homeostat.desired.yaml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class DocumentCodecTest {
    private static final String SMALLEST = """
            apiVersion: homeostat.io/v1
            kind: Process
            metadata: {name: a}
            spec: {install: local, entryPoint: /bin/a}
            """;

    @Test
    void everyDefaultIsWrittenOut() {
        assertEquals("""
                {"apiVersion":"homeostat.io/v1","kind":"Process","metadata":{"name":"a","labels":{}},"spec":{\
                "revision":"local","entryPoint":"/bin/a","arguments":[],"env":{},"install":"local",\
                "limits":{"required":false,"oomGroup":false},"start":{"timeout":"30s","attempts":3,"backoffFactor":2},\
                "stop":{"timeout":"30s"},"health":{"interval":"10s","timeout":"2s","failureThreshold":3},\
                "restart":{"initialDelay":"0s","maxDelay":"5m","resetAfter":"10m","giveUpAfter":0},\
                "metrics":{"interval":"10s","maxDatapoints":60},"execution":{"type":"daemon","bootCritical":false,\
                "default":"enabled","onMatch":"enabled","match":"all","rules":[]},"dependsOn":[]}}""", DocumentCodec.toJson(one(SMALLEST)));
    }

    @Test
    void whatIsReadBackIsWhatWasWritten() {
        for (Workload workload : read("""
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: ops-agent, labels: {team: sre, "a b": "ä\\n\\"x\\""}}
                spec:
                  revision: "67C5640D"
                  source: {url: "https://a.example/x.tgz?sig=1", timeout: 1h30m0s5ms, attempts: 7}
                  entryPoint: bin/ops-agent
                  arguments: ["--verbose", "", "1"]
                  env: {FOO: bar}
                  user: "65534"
                  config: {struct: {z: [1, 1.5, -7, 4294967296, 1e3, true, null, {b: "1", a: ~}], a: ""}}
                  limits: {memory: 256Mi, cpu: 250%, required: true}
                  execution:
                    type: oneShot
                    default: disabled
                    match: any
                    rules: [{scope: metadata, attribute: x, operator: notEqual, value: ""}]
                    triggers: {firstBoot: true, every: 1h}
                    timeout: 90s
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: p}
                spec:
                  revision: "1"
                  source: {url: x.zip}
                  entryPoint: p
                  limits: {memory: 1000}
                  probe: {grpc: {address: "127.0.0.1:1"}}
                """ + "---\n" + SMALLEST)) {
            String json = DocumentCodec.toJson(workload);
            assertEquals(workload, DocumentCodec.fromJson(json));
            assertEquals(json, DocumentCodec.toJson(DocumentCodec.fromJson(json)));
            assertEquals(
                    CanonicalDocument.of(workload).hash(),
                    CanonicalDocument.of(DocumentCodec.fromJson(json)).hash());
        }
    }

    @Test
    void theHashSeesDefaultsAndNotTheOrderOfKeys() {
        String same = """
                kind: Process
                apiVersion: homeostat.io/v1
                spec: {start: {attempts: 3}, stop: {timeout: 30000ms}, entryPoint: /bin/a, install: local}
                metadata: {name: a}
                """;
        assertEquals(
                CanonicalDocument.of(one(SMALLEST)).hash(),
                CanonicalDocument.of(one(same)).hash());
        String other = SMALLEST.replace("install: local", "install: local, user: nobody");
        assertNotEquals(
                CanonicalDocument.of(one(SMALLEST)).hash(),
                CanonicalDocument.of(one(other)).hash());
        assertEquals(64, CanonicalDocument.of(one(SMALLEST)).hash().length());
    }

    /** A former version reads what is stored, and an upgrade is no change of what is declared. */
    @Test
    void aCommandThatIsNotRunAsRootIsStoredAsBeforeItCouldBe() {
        String document = SMALLEST.replace(
                "install: local",
                "install: local, probe: {exec: {command: [check]}}, reload: {exec: {command: [load], asRoot: false}, watch: [/a]}");

        String json = DocumentCodec.toJson(one(document));

        assertTrue(json.contains("\"exec\":{\"command\":[\"check\"]}"), json);
        assertTrue(json.contains("\"exec\":{\"command\":[\"load\"]}"), json);
        assertTrue(DocumentCodec.toJson(one(document.replace("asRoot: false", "asRoot: true")))
                .contains("\"exec\":{\"command\":[\"load\"],\"asRoot\":true}"));
    }

    @Test
    void whatWasStoredUnderFewerRulesCanBeReadAndWrittenAgain() {
        String document = DocumentCodec.toJson(DocumentCodec.fromJson("""
                {"apiVersion":"homeostat.io/v1","kind":"Process","metadata":{"name":"a","labels":{}},
                "spec":{"install":"local","revision":"local","entryPoint":"/bin/a","env":{"HOMEOSTAT_OLD":"x"},
                "rlimits":{"nofile":"100:50"}}}"""));

        assertTrue(document.contains("HOMEOSTAT_OLD"), document);
        assertTrue(document.contains("100:50"), document);
    }

    @Test
    void aStoredDocumentThatIsNotOneIsRefusedWithoutQuotingIt() {
        assertEquals("a stored document is not JSON, 18 characters", refusal("{\"config\": s3cret}"));
        String invalid = refusal(DocumentCodec.toJson(one(SMALLEST)).replace("\"env\"", "\"evn\""));
        assertTrue(
                invalid.startsWith(
                        "a stored document is not valid (an older or newer version may have written it): spec: "),
                invalid);
        assertTrue(invalid.contains("'evn'"), invalid);
        assertTrue(refusal("").endsWith(", 0 characters"), refusal(""));
    }

    private static String refusal(String document) {
        return String.valueOf(assertThrows(IllegalArgumentException.class, () -> DocumentCodec.fromJson(document))
                .getMessage());
    }

    private static Workload one(String yaml) {
        return read(yaml).getFirst();
    }

    private static ImmutableList<Workload> read(String yaml) {
        var stream = new ByteArrayInputStream(yaml.getBytes(StandardCharsets.UTF_8));
        ReadResult result = DocumentReader.readAll(List.of(new Input.Stream("test", stream, Path.of("/base"))));
        assertEquals(List.of(), result.errors());
        return result.declared();
    }
}
