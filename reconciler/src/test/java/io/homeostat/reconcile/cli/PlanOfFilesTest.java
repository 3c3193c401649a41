package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.source.FilesSource;
import io.homeostat.desired.source.StoredWorkloads;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What {@code plan} says of files that no agent has read. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class PlanOfFilesTest {
    private Path directory;
    private Path declared;
    private Shell shell;

    @BeforeEach
    void openShell() throws IOException {
        directory = Shell.userDirectory();
        declared = Files.createDirectory(directory.resolve("declared"));
        shell = new Shell(directory).with(Map.of("XDG_CONFIG_HOME", directory + "/config"));
        shell.write("agent.yaml", "sources: {files: [%s]}%n".formatted(declared));
    }

    @AfterEach
    void cleanUp() throws IOException {
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    @Test
    void whereNoAgentEverRanItPlansWhatTheFilesDeclareAndTouchesNothing() throws IOException {
        Files.writeString(declared.resolve("a.yaml"), Shell.sleeper("a", 600));

        Result planned = plan("--detailed-exitcode");

        assertEquals(2, planned.status(), planned.err());
        assertTrue(planned.out().contains("+ process/a "), planned.out());
        assertTrue(planned.out().contains("Plan: 1 to install"), planned.out());
        assertFalse(Files.exists(shell.state()));
    }

    @Test
    void theSameIsPlannedOnceAnAgentHasReadThem() throws IOException {
        Files.writeString(declared.resolve("a.yaml"), Shell.sleeper("a", 600));
        Files.writeString(declared.resolve("b.yaml"), Shell.sleeper("b", 600));
        Result before = plan();
        assertTrue(before.out().contains("Plan: 2 to install"), before.out());

        readAsAnAgent();

        assertEquals(before, plan());
    }

    @Test
    void aFileThatIsWrongIsNamedAndTheOthersArePlanned() throws IOException {
        Path a = Files.writeString(declared.resolve("a.yaml"), Shell.sleeper("a", 600));
        readAsAnAgent();
        Files.writeString(a, "kind: Nonsense\n");
        Path b = Files.writeString(declared.resolve("b.yaml"), "kind: Nonsense\n");

        Result planned = plan();

        assertEquals(1, planned.status(), planned.err());
        assertTrue(planned.out().contains("Plan: 1 to install"), planned.out());
        assertTrue(
                planned.err().matches("(?s).*files: " + a + ":1:.*; what it declared before stays in force\n.*"),
                planned.err());
        assertTrue(
                planned.err()
                        .matches("(?s).*files: " + b + ":1:.*; nothing in it is in force until that is corrected\n.*"),
                planned.err());
        readAsAnAgent();
        assertEquals(
                planned.err(),
                shell.run("status")
                        .err()
                        .lines()
                        .filter(line -> line.contains("files: "))
                        .map(line -> line + "\n")
                        .reduce("", String::concat));
    }

    /** As after {@code run --config FILE}: the next run may be given that file again. */
    @Test
    void withoutAConfigurationWhatAnotherOneHadReadStays() throws IOException {
        Path a = Files.writeString(declared.resolve("a.yaml"), Shell.sleeper("a", 600));
        readAsAnAgent();
        Files.delete(a);

        Result usual = shell.run("plan");

        assertEquals(0, usual.status(), usual.err());
        assertTrue(usual.out().contains("+ process/a "), usual.out());
        assertTrue(usual.err().contains(a + " was read by an agent with another configuration"), usual.err());
        assertFalse(plan().out().contains("process/a "), "its file is gone");
    }

    /** The usual file of a package has nothing but comments. */
    @Test
    void aConfigurationThatSaysNothingOfSourcesDoesNotTellEitherUnlessItIsNamed() throws IOException {
        Path a = Files.writeString(declared.resolve("a.yaml"), Shell.sleeper("a", 600));
        readAsAnAgent();
        Files.delete(a);
        Path silent = shell.write("silent.yaml", "resync: 10s\n");
        Path usual = configure("# sources: {}\nresync: 10s\n");
        Files.createDirectory(usual.resolveSibling("desired.d"));

        Result planned = shell.run("plan");

        assertEquals(0, planned.status(), planned.err());
        assertTrue(planned.out().contains("+ process/a "), planned.out());
        assertTrue(planned.err().contains(a + " was read by an agent with another configuration"), planned.err());
        for (Path named : List.of(silent, usual)) {
            Result read = shell.run("plan", "--config", named.toString());
            assertFalse(read.out().contains("process/a "), named + read.out());
            assertFalse(read.err().contains("was read by"), named + read.err());
        }
        configure("sources: {files: []}\n");
        assertFalse(shell.run("plan").out().contains("process/a "), "it says that there are no files");
    }

    @Test
    void anAgentThatRunsSaysThatItsOwnConfigurationCounts() throws IOException {
        Files.writeString(declared.resolve("a.yaml"), Shell.sleeper("a", 600));
        String says = "the agent (pid " + ProcessHandle.current().pid()
                + ") goes by the configuration that it has read, and so does this plan; --config counts where no agent runs";
        try (TestAgent agent = TestAgent.start(shell)) {
            Result planned = plan();

            assertEquals(0, planned.status(), planned.err());
            assertFalse(planned.out().contains("process/a "), planned.out());
            assertTrue(planned.err().contains(says), planned.err());
            assertFalse(shell.run("plan").err().contains(says), "nothing is named");
            assertEquals(2, agent.calls());
        }
        assertFalse(plan().err().contains(says), "no agent runs");
    }

    @Test
    void aNamedConfigurationThatIsWrongIsAnErrorAlsoWhereAnAgentRuns() throws IOException {
        try (TestAgent agent = TestAgent.start(shell)) {
            for (String wrong : List.of("log: {\nstateDir: /elsewhere\n", "metrcs: {}\n")) {
                Path config = shell.write("agent.yaml", wrong);

                Result planned = plan();

                assertEquals(1, planned.status(), planned.out());
                assertEquals("", planned.out());
                assertTrue(planned.err().contains("plan: " + config + " is not valid\n" + config + ":"), planned.err());
            }
            assertEquals(0, agent.calls());
        }
    }

    @Test
    void whatAnAgentHasFoundWrongIsNamedByItsPlanToo() throws IOException {
        Path a = Files.writeString(declared.resolve("a.yaml"), "kind: Nonsense\n");
        readAsAnAgent();
        try (TestAgent _ = TestAgent.start(shell)) {
            Result planned = shell.run("plan");

            assertEquals(1, planned.status(), planned.out());
            assertTrue(planned.err().contains("files: " + a + ":1:"), planned.err());
            Path b = shell.write("b.yaml", Shell.sleeper("b", 600));
            assertEquals(0, shell.run("plan", "-f", b.toString()).status(), "nobody asked for the files");
        }
    }

    @Test
    void besideDocumentsTheFilesAreLeftToTheAgentAsByApply() throws IOException {
        Files.writeString(declared.resolve("a.yaml"), Shell.sleeper("a", 600));
        Path b = shell.write("b.yaml", Shell.sleeper("b", 600));

        Result planned = plan("-f", b.toString());

        assertEquals(0, planned.status(), planned.err());
        assertFalse(planned.out().contains("process/a"), planned.out());
    }

    private Result plan(String... words) {
        return shell.run(ImmutableList.<String>builder()
                .add("plan", "--config", "agent.yaml")
                .add(words)
                .build()
                .toArray(String[]::new));
    }

    /** Writes the configuration of whoever names none. */
    private Path configure(String text) throws IOException {
        return Files.writeString(
                Files.createDirectories(directory.resolve("config").resolve("homeostat"))
                        .resolve("agent.yaml"),
                text);
    }

    private void readAsAnAgent() {
        Clock clock = Clock.systemUTC();
        try (StateStore store =
                StateStores.openForWriting(shell.layout(), clock).store()) {
            store.replace(
                    new FilesSource(ImmutableList.of(declared), Choice.ALL, clock)
                            .read(StoredWorkloads.of(SourceName.FILES, store.declarations()))
                            .content(),
                    clock.instant());
        }
    }
}
