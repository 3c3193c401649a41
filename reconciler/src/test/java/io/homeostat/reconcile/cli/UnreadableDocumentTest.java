package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A stored document that can't be read is in everybody's way until it is applied again, or deleted, as its error says. */
class UnreadableDocumentTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.process("b");
    private static final WorkloadId C = WorkloadId.process("c");

    @TempDir
    Path directory;

    private Shell shell;
    private long pidOfA;
    private long pidOfB;
    private long pidOfC;

    @BeforeEach
    void threeWorkloadsRunAndTheDocumentOfOneIsDamaged() throws Exception {
        shell = new Shell(directory);
        for (String name : List.of("a", "b", "c")) {
            shell.write(name + ".yaml", Shell.sleeper(name, 600));
        }
        Result applied = shell.run(
                "apply", "-f", directory + "/a.yaml", "-f", directory + "/b.yaml", "-f", directory + "/c.yaml");
        assertEquals(0, applied.status(), applied.err());
        pidOfA = shell.pid(A);
        pidOfB = shell.pid(B);
        pidOfC = shell.pid(C);
        damage(B);
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    @Test
    void itIsSaidWhatIsWrongWithIt() {
        Result status = shell.run("status");

        assertEquals(1, status.status());
        assertTrue(
                status.err().contains("cannot read the document of process/b (applied)")
                        && status.err().contains("unknown key 'entryPiont'")
                        && status.err().contains("apply it again, or delete process/b"),
                status.err());
        assertEquals(0, apply("b").status());
    }

    @Test
    void itIsAppliedAgain() {
        Result other = apply("a");
        assertEquals(1, other.status(), other.out());
        assertTrue(other.err().contains("process/b"), other.err());

        Result applied = apply("b");

        assertEquals(0, applied.status(), applied.err());
        assertEquals(0, shell.run("status").status());
        assertEquals(List.of(pidOfA, pidOfB, pidOfC), List.of(shell.pid(A), shell.pid(B), shell.pid(C)));
    }

    @Test
    void itIsDeleted() {
        Result deleted = shell.run("delete", "process/b");

        assertEquals(0, deleted.status(), deleted.err());
        assertTrue(deleted.out().contains("process/b  removed"), deleted.out());
        assertFalse(ProcessHandle.of(pidOfB).isPresent());
        assertEquals(List.of(pidOfA, pidOfC), List.of(shell.pid(A), shell.pid(C)));
    }

    @Test
    void ofSeveralOneIsRepairedAfterTheOther() throws Exception {
        damage(C);

        Result deleted = shell.run("delete", "process/b");
        assertEquals(1, deleted.status(), deleted.out());
        assertTrue(deleted.err().contains("apply it again, or delete process/c"), deleted.err());
        assertTrue(ProcessHandle.of(pidOfB).isPresent(), "as long as anything can't be read, nothing is removed");

        Result applied = apply("c");
        assertTrue(applied.out().contains("process/b  removed"), applied.out() + applied.err());
        assertEquals(List.of(pidOfA, pidOfC), List.of(shell.pid(A), shell.pid(C)));
    }

    private Result apply(String name) {
        return shell.run("apply", "-f", directory + "/" + name + ".yaml");
    }

    private void damage(WorkloadId id) throws Exception {
        try (Connection database = DriverManager.getConnection(
                        "jdbc:sqlite:" + shell.layout().database());
                PreparedStatement update = database.prepareStatement(
                        "UPDATE declaration SET document = replace(document, 'entryPoint', 'entryPiont') WHERE workload = ?")) {
            update.setString(1, id.toString());
            assertEquals(1, update.executeUpdate());
        }
    }
}
