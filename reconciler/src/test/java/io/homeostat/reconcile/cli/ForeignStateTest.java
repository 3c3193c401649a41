package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What root does in the state directory of another user. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ForeignStateTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.process("b");
    private static final int NOBODY = 65534;

    @TempDir
    Path directory;

    private Shell shell;
    private Path file;

    @BeforeEach
    void giveTheStateToAnother() throws Exception {
        shell = new Shell(directory);
        assumeTrue(shell.uid() == 0, "only root can do that");
        file = shell.write("both.yaml", Shell.sleeper("a", 300) + Shell.sleeper("b", 300));
        assertEquals(0, shell.run("apply", "-f", file.toString()).status());
        own(NOBODY);
    }

    @AfterEach
    void cleanUp() throws Exception {
        if (shell.uid() == 0) {
            own(0);
            shell.close();
        }
    }

    @Test
    void whatLaunchesIsRefusedAndSaysWhoseItIsAndWhatToDo() {
        for (List<String> words : List.of(
                List.of("apply", "-f", file.toString()),
                List.of("start", "process/a"),
                List.of("restart", "process/a"),
                List.of("trigger", "process/a"),
                List.of("resume", "process/a"),
                List.of("rollback", "process/a"),
                List.of("run"))) {
            Result refused = shell.run(words.toArray(String[]::new));

            assertEquals(1, refused.status(), refused.err());
            assertTrue(refused.err().contains("the state in " + shell.state() + " belongs to "), refused.err());
            assertTrue(refused.err().contains("run it as that user: sudo -u "), refused.err());
        }
    }

    @Test
    void theDatabaseTellsWhoseItIsAndNotTheDirectory() throws IOException {
        Files.setAttribute(shell.layout().database(), "unix:uid", 0);

        assertEquals(0, shell.run("apply", "-f", file.toString()).status());
    }

    @Test
    void looksStopsAndDeletionsAreDoneAndLeaveNothingOfRoots() throws IOException {
        for (List<String> words : List.of(
                List.of("status"),
                List.of("plan"),
                List.of("logs", "process/a"),
                List.of("stop", "process/a"),
                List.of("delete", "process/a"))) {
            Result done = shell.run(words.toArray(String[]::new));

            assertEquals(0, done.status(), words + ": " + done.out() + done.err());
            assertEquals(ImmutableList.of(), ofRoot(), words.toString());
        }
        assertFalse(Files.exists(shell.layout().workloadState(A)));
    }

    /** Root's files are none of an agent that only their owner can run. */
    @Test
    void aPlanReadsNoFilesOfRootsForAnother() throws IOException {
        Path declared = Files.createDirectory(directory.resolve("declared"));
        String elsewhere = Shell.sleeper("d", 300).replace("spec:", "placement: {matchLabels: {role: db}}\nspec:");
        Files.writeString(declared.resolve("c.yaml"), Shell.sleeper("c", 300) + elsewhere);
        Path config = shell.write("agent.yaml", "sources: {files: [%s]}%n".formatted(declared));

        Result planned = shell.run("plan", "--config", config.toString());

        assertEquals(0, planned.status(), planned.err());
        assertTrue(planned.out().contains("0 to install"), planned.out());
        assertTrue(planned.out().contains("2 unchanged"), planned.out());
        assertFalse(planned.out().contains("Not for this machine"), planned.out());
        assertTrue(planned.err().contains("the state in " + shell.state() + " belongs to "), planned.err());
        assertFalse(shell.run("plan", "-f", file.toString()).err().contains("belongs to"), "it reads no files anyway");
    }

    @Test
    void nothingIsLaunchedBesideADeletion() throws Exception {
        ProcessHandle other = ProcessHandle.of(shell.pid(B)).orElseThrow();
        other.destroyForcibly();
        other.onExit().get();

        assertEquals(0, shell.run("delete", "process/a").status());

        assertEquals(
                ImmutableSet.of(B),
                shell.instances().stream().map(one -> one.workload()).collect(ImmutableSet.toImmutableSet()));
        assertEquals(other.pid(), shell.pid(B));
    }

    private ImmutableList<Path> ofRoot() throws IOException {
        ImmutableList.Builder<Path> found = ImmutableList.builder();
        for (Path each : everything()) {
            // Written by the keeper, which is root's here, as root has launched it.
            boolean kept = each.endsWith("exit");
            if (!kept && ((Number) Files.getAttribute(each, "unix:uid", LinkOption.NOFOLLOW_LINKS)).intValue() == 0) {
                found.add(each);
            }
        }
        return found.build();
    }

    private void own(int uid) throws IOException {
        for (Path each : everything()) {
            Files.setAttribute(each, "unix:uid", uid, LinkOption.NOFOLLOW_LINKS);
        }
    }

    private ImmutableList<Path> everything() throws IOException {
        try (Stream<Path> all = Files.walk(shell.state())) {
            return all.collect(ImmutableList.toImmutableList());
        }
    }
}
