package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What scripts build on: exit statuses, and what goes to which stream in which form. */
final class CommandLineTest {
    private static final String TIME = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nonsense",
                "apply",
                "validate",
                "plan --nonsense",
                "delete",
                "delete plugin",
                "delete gadget/x",
                "apply -f x --timeout soon",
                "status -o xml",
                "plan --prune",
                "logs",
                "status --log-level loud"
            })
    void aCommandThatIsNotUnderstoodExitsWith64(String line) {
        Result result = homeostat.runExactly(line.split(" "));

        result.exits(64).says("homeostat: ").says("--help");
        assertEquals("", result.out());
        assertEquals(1, result.err().lines().count(), result::toString);
    }

    @Test
    void aClosedStandardInputIsNothingToRead() throws Exception {
        Process closed = new ProcessBuilder(
                        "/bin/sh",
                        "-c",
                        "exec \"$@\" <&-",
                        "sh",
                        Distribution.program().toString(),
                        "apply",
                        "-f",
                        "-",
                        "--state-dir",
                        homeostat.stateDir().toString(),
                        "--run-dir",
                        homeostat.runDir().toString())
                .redirectErrorStream(true)
                .start();
        String said = new String(closed.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertEquals(1, closed.waitFor(), said);
        assertTrue(said.contains("-: can't be read: standard input is closed"), said);
    }

    @Test
    void noCommandAtAllIsNotUnderstoodEither() {
        homeostat.runProcessExactly().exits(64).says("Commands:");
    }

    @Test
    void helpIsAResult() {
        Result help = homeostat.runExactly("apply", "--help").exits(0);

        assertTrue(help.out().contains("--prune"), help::toString);
        assertEquals("", help.err());
    }

    @Test
    void allErrorsOfAllFilesAreReportedAtTheirPlaces() {
        homeostat.file("d/a.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: "bad name"}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  stop: {timeout: soon}
                """);
        homeostat.file("d/b.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: fine}
                spec:
                  install: local
                  entryPoint: /bin/sh
                  entryPoint: /bin/sh
                  sausage: 1
                """);

        String directory = homeostat.directory().resolve("d").toString();
        Result result = homeostat.run("validate", "-f", directory).exits(1);

        assertEquals("", result.out());
        for (String place : List.of("d/a.yaml:3:18: ", "d/a.yaml:7:19: ", "d/b.yaml:7:3: ", "d/b.yaml:8:3: ")) {
            assertTrue(result.err().contains(place), () -> place + result);
        }
        homeostat.run("apply", "-f", directory).exits(1);
        assertFalse(Files.exists(homeostat.stateDir().resolve("homeostat.db")));
        JsonNode json = homeostat
                .run("validate", "-f", directory, "-o", "json")
                .exits(1)
                .json();
        assertFalse(json.get("valid").asBoolean());
        assertEquals(4, json.get("errors").size());
        assertEquals(3, json.at("/errors/0/line").asInt());
    }

    @Test
    void aFileThatIsNotThereIsAnError() {
        homeostat.run("validate", "-f", "nowhere.yaml").exits(1).says("nowhere.yaml");
        homeostat.run("apply", "-f", "nowhere.yaml").exits(1).says("nowhere.yaml");
        homeostat.run("plan", "-f", "nowhere.yaml").exits(1).says("nowhere.yaml");
    }

    @Test
    void statusTellsConvergedFromNotAndFromNever() {
        homeostat.run("status", "-o", "json").exits(3);
        Document web = web();
        homeostat.applied(web);

        homeostat.run("status").exits(0).says("process/web").says("RUNNING");
        homeostat.run("status", "process/web").exits(0).says("Generation: 1");
        homeostat.run("status", "process/wep").exits(1).says("process/web");
        homeostat.kill("process/web");
        homeostat.run("status").exits(1);
    }

    @Test
    void theStatusAsJsonHasTheFormThatWasPromised() {
        homeostat.applied(web());

        JsonNode status = homeostat.run("status", "-o", "json").exits(0).json();

        assertEquals(List.of("formatVersion", "agent", "workloads", "problems"), Shapes.keys(status));
        JsonNode workload = status.at("/workloads/0");
        assertEquals(
                List.of(
                        "kind:STRING",
                        "name:STRING",
                        "source:STRING",
                        "generation:NUMBER",
                        "observedGeneration:NUMBER",
                        "state:STRING",
                        "desiredRevision:STRING",
                        "currentRevision:STRING",
                        "pendingRevision:NULL",
                        "pid:NUMBER",
                        "startedAt:STRING",
                        "restarts:NUMBER",
                        "lastExit:NULL",
                        "health:OBJECT",
                        "configHash:STRING",
                        "metrics:NULL",
                        "conditions:ARRAY"),
                Shapes.types(workload));
        assertEquals(List.of("code:NUMBER", "results:ARRAY", "checkedAt:STRING"), Shapes.types(workload.get("health")));
        assertEquals("Process", workload.get("kind").asText());
        assertEquals("applied", workload.get("source").asText());
        assertTrue(workload.get("startedAt").asText().matches(TIME), workload::toString);
        assertEquals(
                List.of("Converged", "Healthy", "Paused", "GivenUp", "RolledBack"),
                Shapes.stream(workload.get("conditions"))
                        .map(condition -> condition.get("type").asText())
                        .toList());
        assertEquals(
                List.of("type:STRING", "status:STRING", "reason:STRING", "message:STRING", "lastTransitionTime:STRING"),
                Shapes.types(workload.at("/conditions/0")));
        assertEquals("AtDesiredState", workload.at("/conditions/0/reason").asText());
        homeostat.kill("process/web");
        JsonNode exit = homeostat.status("process/web").get("lastExit");
        assertEquals(List.of("code:NUMBER", "signal:NUMBER", "reason:STRING", "at:STRING"), Shapes.types(exit));
        assertEquals(137, exit.get("code").asInt());
        assertEquals("SIGNALED", exit.get("reason").asText());
    }

    @Test
    void anEventAsJsonHasTheFormThatWasPromised() {
        homeostat.applied(web());

        List<JsonNode> events = homeostat.events();

        for (JsonNode event : events) {
            assertEquals(
                    List.of(
                            "formatVersion:STRING",
                            "id:NUMBER",
                            "time:STRING",
                            "workload:STRING",
                            "revision:STRING",
                            "type:STRING",
                            "message:STRING"),
                    Shapes.types(event));
            assertTrue(event.get("time").asText().matches(TIME), event::toString);
        }
        List<Long> ids = events.stream().map(event -> event.get("id").asLong()).toList();
        assertEquals(ids.stream().sorted().toList(), ids);
    }

    @Test
    void intoAPipeThereIsNoColourAndMessagesGoToStandardError() {
        homeostat.environment("TERM", "xterm-256color");
        Path file = homeostat.file("a.yaml", web());

        for (Result result :
                List.of(homeostat.runProcess("apply", "-f", file.toString()), homeostat.runProcess("status"))) {
            assertFalse(result.out().contains("\u001b") || result.err().contains("\u001b"), result::toString);
            // After 10 s apply reports what is under way; on a busy machine it may take that long.
            String messages = result.err().replaceAll("homeostat: apply: after .*\n", "");
            assertTrue(messages.isEmpty() || messages.matches("homeostat: no agent .*\n"), result::toString);
        }
    }

    @Test
    void aDeclarationComesFromStandardInputToo() {
        Path file = homeostat.file("a.yaml", web());

        Result applied = homeostat.runProcessWithInput(file, "apply", "-f", "-").exits(0);

        applied.says("process/web  installed");
    }

    @Test
    void schemaExplainCompletionAndVersionSpeak() {
        assertEquals(
                "https://json-schema.org/draft/2020-12/schema",
                homeostat.runExactly("schema").exits(0).json().get("$schema").asText());
        homeostat.runExactly("explain", "Plugin.spec.limits").exits(0).says("memory");
        homeostat.runExactly("explain", "Plugin.spec.nonsense").exits(1);
        homeostat.runExactly("completion", "bash").exits(0).says("complete ");
        homeostat.runProcessExactly("version").exits(0).says("homeostat ");
        homeostat.runExactly("--version").exits(0).says("homeostat ");
    }

    private static Document web() {
        return Document.script("web", "exec sleep 1000");
    }
}
