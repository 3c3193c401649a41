package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A lost database is a loss of memory, and no order to remove what nobody remembers. */
class LostDatabaseTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.process("b");

    @TempDir
    Path directory;

    private Shell shell;
    private long pidOfA;
    private long pidOfB;

    @BeforeEach
    void twoWorkloadsRunAndTheDatabaseIsLost() throws IOException {
        shell = new Shell(directory);
        shell.write("a.yaml", Shell.sleeper("a", 600));
        shell.write("b.yaml", Shell.sleeper("b", 600));
        shell.run("apply", "-f", directory + "/a.yaml", "-f", directory + "/b.yaml");
        pidOfA = shell.pid(A);
        pidOfB = shell.pid(B);
        Files.delete(shell.layout().database());
    }

    @AfterEach
    void leaveNothingBehind() {
        // Nobody remembers them. The end of one that is merely killed is written down while the directory is deleted.
        for (WorkloadId each : List.of(A, B)) {
            shell.run("delete", each.toString());
        }
        shell.close();
    }

    @Test
    void whatIsAppliedAgainIsAdoptedAndTheRestLeftAlone() throws IOException {
        Shell.Result result = shell.run("apply", "-f", directory + "/a.yaml");

        // What was given is as declared; the other one is told.
        assertEquals(0, result.status(), result.out());
        assertTrue(
                result.out().contains("nothing is remembered of it; apply its document again, or delete process/b"),
                result.out());
        assertEquals(pidOfA, shell.pid(A), "adopted, not started anew");
        assertTrue(ProcessHandle.of(pidOfB).isPresent(), "left alone");

        Shell.Result both = shell.run("apply", "-f", directory + "/b.yaml");
        assertEquals(0, both.status(), both.out());
        assertEquals(pidOfB, shell.pid(B), "adopted, not started anew");
    }

    @Test
    void planRemovesNothing() throws IOException {
        Shell.Result plan = shell.run("plan");

        assertTrue(plan.out().contains("0 to remove, 2 waiting"), plan.out());
    }

    @Test
    void whatNobodyRemembersCanBeDeletedByName() throws IOException {
        Shell.Result result = shell.run("delete", "process/b");

        assertTrue(result.out().contains("process/b  removed"), result.out() + result.err());
        assertFalse(ProcessHandle.of(pidOfB).isPresent());
        assertTrue(ProcessHandle.of(pidOfA).isPresent(), "nobody deleted it");
    }

    @Test
    void deletingAllLeavesWhatNobodyRemembersAndFails() throws IOException {
        Shell.Result none = shell.run("delete", "--all");

        assertEquals(1, none.status(), none.out() + none.err());
        shell.run("apply", "-f", directory + "/a.yaml");
        Shell.Result other = shell.run("delete", "--all");

        assertEquals(1, other.status(), other.out() + other.err());
        assertTrue(
                other.err().contains("delete: process/b stays: nothing is remembered of it"),
                other.out() + other.err());
        assertFalse(ProcessHandle.of(pidOfA).isPresent());
        assertTrue(ProcessHandle.of(pidOfB).isPresent(), "it may be declared by a file");
    }
}
