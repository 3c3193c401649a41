package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What the schema of a driver says of documents, before anything is done for them. */
final class DriverSchemaTest {
    private static final String DRIVER = "driver/runner";
    private static final String TASK = "task/web";

    private static final String MISTAKEN = """
            apiVersion: homeostat.io/v1
            kind: Task
            metadata: {name: web}
            spec:
              driver: runner
              config:
                command: /bin/sleep
                args:
                  - "1000"
                  - ["2000"]
                comand: /bin/sh
                limits_hint:
                  nice: high
            """;

    @TempDir
    static Path directory;

    private static SampleDriver sample;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @BeforeAll
    static void unpack() {
        sample = SampleDriver.in(directory);
    }

    private static Document runner() {
        return sample.local("runner", "1");
    }

    @Test
    void whatASchemaRefusesIsToldWithItsPlaceByEveryCommandThatReadsFiles() {
        homeostat.applied(runner(), Document.task("web", "runner", "exec sleep 1000"));
        long pid = homeostat.process(TASK);
        Path file = homeostat.file("mistaken.yaml", MISTAKEN);

        for (String command : List.of("validate", "plan", "apply")) {
            homeostat
                    .run(command, "-f", file.toString())
                    .exits(1)
                    .says(file + ":11:5: spec.config.comand: ")
                    .says(file + ":10:9: spec.config.args[1]: ")
                    .says(file + ":13:7: spec.config.limits_hint.nice: ");
        }
        JsonNode refused =
                homeostat.run("validate", "-o", "json", "-f", file.toString()).json();
        assertFalse(refused.get("valid").asBoolean(), refused::toString);
        assertEquals(3, refused.get("errors").size(), refused::toString);
        assertEquals(10, refused.at("/errors/0/line").asInt(), refused::toString);
        assertEquals(0, refused.get("unchecked").size(), refused::toString);

        assertEquals(pid, homeostat.process(TASK));
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        homeostat
                .run(
                        "validate",
                        "-f",
                        homeostat
                                .file("good.yaml", MISTAKEN.replaceAll("(?s)args:.*", ""))
                                .toString())
                .exits(0)
                .doesNotSay("not checked");
    }

    @Tag("nightly")
    @Test
    void whatRunsUntilItIsReplacedIsNotAskedForItsReplacement() {
        homeostat.applied(runner());
        homeostat
                .run("pause", DRIVER, "--reason", "its replacement has to wait")
                .exits(0);
        Path upgrade = homeostat.file("upgrade.yaml", sample.local("runner", "2"));
        homeostat.apply(upgrade);
        Path file = homeostat.file("mistaken.yaml", MISTAKEN);

        homeostat
                .run("validate", "-f", file.toString())
                .exits(0)
                .says("was not checked: driver/runner does not run as it is declared");
        homeostat.run("resume", DRIVER).exits(0);
    }

    @Tag("nightly")
    @Test
    void anAgentTellsThePlacesToo() {
        homeostat.declare("all.yaml", runner());
        homeostat.agent();
        homeostat.awaitRunning(DRIVER);
        Path file = homeostat.file("mistaken.yaml", MISTAKEN);

        homeostat.apply(file).exits(1).says(file + ":11:5: spec.config.comand: ");

        assertEquals(List.of(), homeostat.processes(TASK));
        // Of what an agent reads by itself no file is at hand.
        homeostat.declare(
                "web.yaml", Document.task("web", "runner", "exec sleep 1000").with("config.comand", "/bin/sh"));
        eventually().untilAsserted(() -> homeostat.run("status", TASK).says("spec.config.comand: "));
    }

    @Test
    void aDriversOwnConfigurationIsRefusedBeforeTheDriverIsStopped() {
        homeostat.applied(runner());
        long pid = homeostat.pid(DRIVER);
        Path file = homeostat.file("mistaken.yaml", runner().with("config.enbled", true));

        homeostat.apply(file).exits(1).says(": spec.config.enbled: ");

        assertEquals(pid, homeostat.pid(DRIVER));
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        // What another program takes nobody knows yet.
        homeostat
                .run(
                        "validate",
                        "-f",
                        homeostat
                                .file(
                                        "another.yaml",
                                        sample.local("runner", "2").with("config.enbled", true))
                                .toString())
                .exits(0)
                .says(
                        "spec.config of driver/runner was not checked: another program than the one that runs is declared");
    }

    @Tag("nightly")
    @Test
    void whatCanNotBeCheckedIsSaidAndIsNoError() {
        Path file = homeostat.file("desired.yaml", MISTAKEN);
        String unchecked = "spec.config of task/web was not checked: driver runner does not run here";

        homeostat
                .run("validate", "-f", file.toString())
                .exits(0)
                .says(file + ":6:3: " + unchecked)
                .says("1 document valid");
        JsonNode json =
                homeostat.run("validate", "-o", "json", "-f", file.toString()).json();
        assertTrue(json.get("valid").asBoolean(), json::toString);
        assertEquals(unchecked, json.at("/unchecked/0/message").asText(), json::toString);
        assertEquals(6, json.at("/unchecked/0/line").asInt(), json::toString);
        assertFalse(Files.exists(homeostat.stateDir()));
    }

    @Tag("nightly")
    @Tag("nightly")
    @Test
    void aDriverThatDoesNotAnswerHoldsUpNoValidation() {
        homeostat.applied(runner());
        Processes.signal("STOP", homeostat.pid(DRIVER));
        try {
            Path file = homeostat.file("many.yaml", MISTAKEN + "---\n" + MISTAKEN.replace("name: web", "name: b"));

            homeostat
                    .run("validate", "-f", file.toString())
                    .exits(0)
                    .says("task/web was not checked")
                    .says("task/b ")
                    .says("can't be asked");
        } finally {
            Processes.signal("CONT", homeostat.pid(DRIVER));
        }
    }

    @Tag("nightly")
    @Tag("nightly")
    @Test
    void tasksOfADriverThatIsToBecomeAnotherOneAreNotCheckedByTheFormer() {
        homeostat.applied(runner());

        homeostat
                .run(
                        "validate",
                        "-f",
                        homeostat
                                .file("both.yaml", sample.local("runner", "2") + "\n---\n" + MISTAKEN)
                                .toString())
                .exits(0)
                .says("task/web was not checked: driver/runner is declared here, and not as it runs");
    }

    @Test
    void theKeysThatADriverTakesAreExplained() {
        homeostat.applied(runner());

        Result explained = homeostat.run("explain", DRIVER).exits(0);

        assertEquals("""
                WORKLOAD: driver/runner

                FIELD:    Driver.spec.config  <object>

                DESCRIPTION:
                    What driver/runner itself takes.

                FIELDS:
                    enabled   <bool> default: true
                    faults    <list(string)>
                    greeting  <string>

                FIELD:    Task.spec.config  <object>

                DESCRIPTION:
                    What a task takes that has spec.driver: runner.

                FIELDS:
                    args              <list(string)>
                    command           <string> required
                    faults            <list(string)>
                    labels            <map(string)>
                    limits_hint       <block>
                    limits_hint.nice  <number> default: 0
                """, explained.out());
        JsonNode json = homeostat.run("explain", DRIVER, "-o", "json").exits(0).json();
        assertEquals(DRIVER, json.get("workload").asText());
        assertEquals("Task.spec.config", json.at("/explanations/1/path").asText(), json::toString);
        assertEquals(
                "{\"name\":\"command\",\"type\":\"string\",\"required\":true,\"default\":null,\"description\":\"\"}",
                json.at("/explanations/1/fields/1").toString());
    }

    @Tag("nightly")
    @Tag("nightly")
    @Test
    void anAgentIsNoHindranceToThat() {
        homeostat.declare("all.yaml", runner());
        homeostat.agent();
        homeostat.awaitRunning(DRIVER);

        homeostat.run("explain", DRIVER).exits(0).says("limits_hint.nice  <number> default: 0");
    }

    @Tag("nightly")
    @Test
    void whatCanNotBeExplainedIsToldWithARemedy() {
        homeostat
                .run("explain", DRIVER)
                .exits(3)
                .says("driver runner does not run here, so nobody knows which keys it takes; homeostat apply -f FILE,"
                        + " with kind: Driver and metadata.name: runner in it, starts it");
        homeostat.run("explain", "process/a").exits(3).says("homeostat explain Process shows");
        homeostat.apply(runner().arguments("--fault=exit-before-handshake").with("start.attempts", 1));
        homeostat.run("explain", DRIVER).exits(3).says("; homeostat status driver/runner says why");
        homeostat
                .run("explain", DRIVER, "-o", "json")
                .exits(3)
                .says("\"error\"")
                .says("driver runner ");
    }
}
