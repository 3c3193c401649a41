package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Commands where other sources than {@code apply} declare workloads, too. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class SourceConflictsTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final String ORIGIN = "/etc/homeostat/desired.d/a.yaml";
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() throws IOException {
        shell = new Shell(directory);
        shell.write("a.yaml", Shell.sleeper("a", 601));
        shell.write("nothing.yaml", Shell.sleeper("other", 600));
    }

    @AfterEach
    void leaveNothingBehind() {
        for (SourceName source : SourceName.values()) {
            if (source != SourceName.APPLIED) {
                declare(source, "");
            }
        }
        apply("nothing.yaml");
        shell.close();
    }

    @Test
    void applyConvergesWhatEverySourceDeclares() throws IOException {
        declare(SourceName.FILES, Shell.sleeper("a", 600));

        Result applied = apply("nothing.yaml");

        assertEquals(0, applied.status(), applied.err());
        assertTrue(ProcessHandle.of(shell.pid(A)).isPresent());
        JsonNode workload = status().at("/workloads/0");
        assertEquals("files", workload.get("source").asText());
        assertFalse(workload.has("overruled"));
    }

    @Test
    void whoDeletesWhatNobodyDeclaresIsToldWhatAnySourceDoes() {
        declare(SourceName.FILES, Shell.sleeper("a", 600));

        Result deleted = shell.run("delete", "process/b");

        assertEquals(
                "homeostat: delete: process/b was not applied, so nothing was deleted; declared are: process/a\n",
                deleted.err());
    }

    @Test
    void whatIsAppliedOverrulesTheFilesAndStatusSaysSo() throws IOException {
        declare(SourceName.FILES, Shell.sleeper("a", 600));

        Result applied = apply("a.yaml");

        assertEquals(0, applied.status(), applied.err());
        assertEquals(
                "homeostat: process/a: what is applied counts from now on, and not what files"
                        + " (/etc/homeostat/desired.d/a.yaml) says; homeostat delete process/a gives it back\n",
                applied.err());
        assertEquals("", apply("a.yaml").err());
        JsonNode workload = status().at("/workloads/0");
        assertEquals("applied", workload.get("source").asText());
        assertEquals("files", workload.at("/overruled/0").asText());
        String text = shell.run("status", "process/a").out();
        assertTrue(text.contains("applied, overrules files"), text);
    }

    @Test
    void applyingWhatAStrongerSourceDeclaresSaysSoAndGoesByTheWinner() throws IOException {
        declare(SourceName.CONTROL_PLANE, Shell.sleeper("a", 600));
        apply("nothing.yaml");
        long pid = shell.pid(A);

        Result planned = shell.run("plan", "-f", directory + "/a.yaml", "--detailed-exitcode");
        assertEquals(0, planned.status(), planned.out());
        assertTrue(planned.err().contains("process/a: controlPlane declares it, too, and is stronger"), planned.err());
        Result applied = apply("a.yaml");

        assertEquals(0, applied.status(), applied.err());
        assertTrue(applied.err().contains("process/a: controlPlane declares it, too, and is stronger"), applied.err());
        assertEquals(pid, shell.pid(A));
    }

    @Test
    void deletingWhatTheFilesDeclareAsWellHandsItOverToThem() {
        declare(SourceName.FILES, Shell.sleeper("a", 600));
        apply("a.yaml");
        long pid = shell.pid(A);

        Result deleted = shell.run("delete", "process/a");

        assertEquals(0, deleted.status(), deleted.err());
        assertTrue(
                deleted.err()
                        .contains("process/a is no longer applied, and goes on being declared by files (" + ORIGIN),
                deleted.err());
        assertTrue(deleted.err().contains("take it out there"), deleted.err());
        assertFalse(pid == shell.pid(A), "it runs as the files want it");
    }

    @Test
    void deletingWhatOnlyTheFilesDeclareIsAnErrorThatSaysWhereItIs() {
        declare(SourceName.FILES, Shell.sleeper("a", 600));
        apply("nothing.yaml");
        long pid = shell.pid(A);

        Result deleted = shell.run("delete", "process/a");

        assertEquals(1, deleted.status());
        assertTrue(
                deleted.err()
                        .contains("process/a was not applied, so nothing was deleted; it is declared by files ("
                                + ORIGIN + ")"),
                deleted.err());
        assertEquals(pid, shell.pid(A));

        Result all = shell.run("delete", "--all");
        assertEquals(0, all.status());
        assertTrue(all.err().contains("process/a stays: it is declared by files (" + ORIGIN + ")"), all.err());
        assertEquals(pid, shell.pid(A));
    }

    @Test
    void whatIsWrongWithASourceIsShownAndIsAFailure() throws IOException {
        apply("a.yaml");
        assertEquals(0, shell.run("status").status());
        SourceProblem problem = new SourceProblem(
                SourceName.FILES,
                "/etc/bad.yaml",
                Problem.Kind.UNKNOWN_KEY,
                "3:1",
                "/etc/bad.yaml:3:1: unknown key 'x'");
        replace(new SourceContent(
                SourceName.FILES, ImmutableList.of(), ImmutableSet.of("/etc/bad.yaml"), ImmutableList.of(problem)));

        Result status = shell.run("status");

        assertEquals(1, status.status());
        assertTrue(
                status.err()
                        .endsWith(
                                "homeostat: files: /etc/bad.yaml:3:1: unknown key 'x'; nothing in it is in force until"
                                        + " that is corrected\n"),
                status.err());
        JsonNode shown = status().at("/problems/0");
        assertEquals("files", shown.get("source").asText());
        assertEquals("/etc/bad.yaml", shown.get("origin").asText());
        assertEquals(problem.message(), shown.get("message").asText());

        declare(SourceName.FILES, "");
        assertEquals(0, shell.run("status").status());
        assertTrue(status().get("problems").isEmpty());
    }

    private Result apply(String name) {
        return shell.run("apply", "-f", directory + "/" + name);
    }

    private JsonNode status() throws IOException {
        return JSON.readTree(shell.run("status", "-o", "json").out());
    }

    private void declare(SourceName source, String yaml) {
        Input input = new Input.Stream("-", new ByteArrayInputStream(yaml.getBytes(StandardCharsets.UTF_8)), directory);
        ImmutableList<ToApply> documents = DocumentReader.readAll(List.of(input)).declared().stream()
                .map(workload -> new ToApply(workload, ORIGIN))
                .collect(ImmutableList.toImmutableList());
        replace(new SourceContent(source, documents, ImmutableSet.of(), ImmutableList.of()));
    }

    private void replace(SourceContent content) {
        try (StateStore store =
                StateStores.openForWriting(shell.layout(), Clock.systemUTC()).store()) {
            store.replace(content, Instant.now());
        }
    }
}
