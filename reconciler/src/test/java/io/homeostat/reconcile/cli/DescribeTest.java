package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is declared, all about a workload, and differences for those who know kubectl. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class DescribeTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String SECRETIVE =
            Shell.sleeper("web", 600) + "  env: {TOKEN: hunter2000}\n  metrics: {maxDatapoints: 7}\n";

    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    @Test
    void whatIsDeclaredIsPrintedWithItsSourceAndDefaultsAndNoSecretAsAValue() throws IOException {
        String file = apply(SECRETIVE);

        Result yaml = shell.run("get", "process/web", "-o", "yaml");
        JsonNode json =
                JSON.readTree(shell.run("get", "process/web", "-o", "json").out());

        assertEquals(0, yaml.status(), yaml::toString);
        assertEquals(yaml.out(), shell.run("get", "process/web").out());
        assertTrue(
                yaml.out().startsWith("# declared by applied (" + file + "), generation 1\napiVersion: "), yaml.out());
        assertTrue(yaml.out().contains("  metrics:\n    interval: 10s\n    maxDatapoints: 7\n"), yaml.out());
        assertTrue(yaml.out().contains("spec.stop.signal: SIGTERM, spec.restart.policy: always"), yaml.out());
        assertEquals("SIGTERM", json.at("/defaults/spec.stop.signal").asText());
        assertTrue(yaml.out().contains("  env:\n    TOKEN:\n      masked: true\n"), yaml.out());
        assertEquals("applied", json.at("/source").asText());
        assertEquals(file, json.at("/origin").asText());
        assertTrue(json.at("/document/spec/env/TOKEN/masked").asBoolean());
        assertFalse((yaml.out() + json).contains("hunter"), yaml.out());

        String copy = shell.write("copy.yaml", yaml.out()).toString();
        Result again = shell.run("apply", "-f", copy);
        assertEquals(1, again.status(), "a mask was taken for a value");
        assertTrue(
                again.err()
                        .contains(
                                "this is what homeostat get printed, in which secrets are masked, here spec.env.TOKEN;"
                                        + " write the value in"),
                again.err());
        assertFalse(again.err().contains("is wanted"), again.err());
    }

    @Test
    void whatHasNoSecretsCanBeAppliedAgainAsItIsPrinted() throws IOException {
        apply(Shell.sleeper("web", 600));

        String copy =
                shell.write("copy.yaml", shell.run("get", "process/web").out()).toString();

        Result diff = shell.run("diff", "-f", copy);
        assertEquals(0, diff.status(), diff::toString);
    }

    @Test
    void ofWhatNobodyDeclaresThereIsNothingToGetOrDescribe() throws IOException {
        apply(Shell.sleeper("web", 600));

        Result get = shell.run("get", "process/db");
        Result described = shell.run("describe", "process/db");

        assertEquals(1, get.status());
        assertTrue(get.err().contains("process/db is not declared; declared are: process/web"), get.err());
        assertEquals(3, described.status());
        assertTrue(described.err().contains("process/db is neither declared nor on this machine"), described.err());
    }

    @Test
    void programsGetAnErrorOfWhatIsUnknown() throws IOException {
        for (String command : List.of("describe", "history")) {
            Result unknown = shell.run(command, "process/db", "-o", "json");

            assertEquals(3, unknown.status());
            JsonNode error = JSON.readTree(unknown.err()).get("error");
            assertEquals(command, error.get("command").asText());
            assertEquals("failure", error.get("kind").asText());
            assertTrue(error.get("message").asText().contains("process/db"), unknown.err());
        }
    }

    @Test
    void severalAreDocumentsOfOneStreamThatCanBeAppliedAgain() throws IOException {
        apply(Shell.sleeper("web", 600) + "\n---\n" + Shell.sleeper("db", 600));

        Result all = shell.run("get", "--all");
        Result named = shell.run("get", "process/db", "process/web", "process/no");
        JsonNode json = JSON.readTree(shell.run("get", "--all", "-o", "json").out());
        Result status = shell.run("status", "process/db", "process/no");

        assertEquals(0, all.status(), all::toString);
        String copy = shell.write("copy.yaml", all.out()).toString();
        assertEquals(0, shell.run("diff", "-f", copy).status());
        assertEquals(all.out(), named.out());
        assertEquals(1, named.status());
        assertTrue(named.err().contains("process/no is not declared; declared are: "), named.err());
        assertEquals("process/db", json.at("/workloads/0/workload").asText());
        assertEquals("process/web", json.at("/workloads/1/workload").asText());
        assertEquals(1, json.at("/formatVersion").asInt());
        assertEquals(1, status.status());
        assertTrue(status.out().contains("process/db"), status.out());
        assertTrue(status.err().contains("process/no is neither declared nor on this machine"), status.err());
        Result none = shell.run("get", "-l", "team=sre");
        assertEquals(1, none.status());
        assertTrue(none.err().contains("nothing is declared here with team=sre"), none.err());
    }

    @Test
    void severalAreDescribedOneAfterTheOther() throws IOException {
        apply(Shell.sleeper("web", 600) + "\n---\n" + Shell.sleeper("db", 600));

        Result named = shell.run("describe", "process/web", "process/db", "process/no");
        JsonNode all =
                JSON.readTree(shell.run("describe", "--all", "-o", "json").out());

        assertEquals(3, named.status());
        assertTrue(named.err().contains("process/no is neither declared nor on this machine"), named.err());
        int web = named.out().indexOf("process/web");
        assertTrue(web >= 0 && web < named.out().indexOf("\n\nprocess/db"), named.out());
        assertEquals(2, all.get("workloads").size(), all::toString);
        assertEquals("process/db", all.at("/workloads/0/workload").asText());
        assertEquals(1, shell.run("describe", "-l", "team=sre").status());
        try (TestAgent agent = TestAgent.start(shell)) {
            Result asked = shell.run("describe", "process/web", "process/db", "process/no");
            assertEquals(3, asked.status());
            assertTrue(asked.out().contains("\n\nprocess/db"), asked.out());
            assertTrue(agent.calls() > 0);
        }
    }

    @Test
    void theLinesOfAnEventStandBelowEachOther() throws IOException {
        shell.write(
                "web.yaml",
                Shell.sleeper("web", 600)
                                .replace("/bin/sleep", "/bin/sh")
                                .replace("[\"600\"]", "[\"-c\", \"echo one; echo two; exit 3\"]")
                        + "  start: {attempts: 1}\n");
        shell.run("apply", "-f", directory + "/web.yaml");

        String text = shell.run("describe", "process/web").out();

        assertTrue(text.contains("\n    one\n    two\n"), text);
    }

    @Test
    void allAboutAWorkloadIsInOnePlace() throws IOException {
        apply(SECRETIVE
                .replace("/bin/sleep", "/bin/sh")
                .replace("[\"600\"]", "[\"-c\", \"echo ready; exec sleep 600\"]"));

        Result text = shell.run("describe", "process/web");
        JsonNode json =
                JSON.readTree(shell.run("describe", "process/web", "-o", "json").out());

        assertEquals(0, text.status(), text::toString);
        for (String part : new String[] {
            "State:      RUNNING",
            "Instances:\n",
            "Revisions:\n  NUMBER  REVISION  SOURCE",
            "  1       local     applied",
            "Declaration:\n  # declared by applied (",
            "Events:\n",
            "PLUGIN_STARTED",
            "Log:\n  ready\n"
        }) {
            assertTrue(text.out().contains(part), part + " in " + text.out());
        }
        assertEquals("RUNNING", json.at("/status/state").asText());
        assertEquals("none", json.at("/plan/action").asText());
        assertEquals("local", json.at("/revisions/lastKnownGood/revision").asText());
        assertEquals("CURRENT", json.at("/revisions/history/0/status").asText());
        assertEquals("STARTED", json.at("/instances/0/phase").asText());
        assertEquals("ready", json.at("/log/0").asText());
        assertFalse(json.at("/events").isEmpty());
        assertFalse((text.out() + json).contains("hunter"), text.out());
    }

    @Test
    void diffEndsAsDiffDoes() throws IOException {
        String file = apply(Shell.sleeper("web", 600));

        assertEquals(0, shell.run("diff", "-f", file).status());
        Result different = shell.run(
                "diff", "-f", shell.write("b.yaml", Shell.sleeper("web", 601)).toString());
        assertEquals(1, different.status(), different::toString);
        assertTrue(different.out().contains("spec.arguments[0]: 600 -> 601"), different.out());
        assertEquals(
                2,
                shell.run(
                                "diff",
                                "-f",
                                shell.write("c.yaml", "kind: Nonsense\n").toString())
                        .status());
    }

    private String apply(String document) throws IOException {
        String file = shell.write("web.yaml", document).toString();
        Result applied = shell.run("apply", "-f", file);
        assertEquals(0, applied.status(), applied::toString);
        return file;
    }
}
