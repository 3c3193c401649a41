package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Of a workload that can't be looked at people read one sentence, and no command succeeds. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class UnseenTest {
    private static final WorkloadId A = WorkloadId.process("a");

    @TempDir
    Path directory;

    private Shell shell;
    private Path file;
    private Path inTheWay;

    @BeforeEach
    void putADirectoryInThePlaceOfANote() throws Exception {
        shell = new Shell(directory);
        file = shell.write("a.yaml", Shell.sleeper("a", 300));
        assertEquals(0, shell.run("apply", "-f", file.toString()).status());
        // Unlike a file without permissions, root can't read that either.
        inTheWay = Files.createDirectories(shell.layout().launch(A, "another").resolve("launch.json"));
    }

    @AfterEach
    void cleanUp() throws Exception {
        Files.deleteIfExists(inTheWay);
        assertEquals(0, shell.run("apply", "-f", file.toString()).status());
        shell.close();
    }

    @Test
    void whatCanNotBeLookedAtIsUnknownToPeople() {
        Result status = shell.run("status");

        assertUnseen(status);
        assertTrue(status.out().contains("UNKNOWN"), status.out());
        assertTrue(
                shell.run("status", "-o", "json").out().contains("\"state\":\"STATE_VALUE_UNSPECIFIED\""),
                "the control plane's word");
    }

    @Test
    void aPlanThatCouldNotLookIsNoSuccess() {
        assertUnseen(shell.run("plan"));
        assertUnseen(shell.run("plan", "--detailed-exitcode"));
        assertEquals(2, shell.run("diff", "-f", file.toString()).status());
    }

    @Test
    void nothingIsDoneToWhatCanNotBeLookedAt() {
        long pid = shell.pid(A);
        for (List<String> words : List.of(
                List.of("apply", "-f", file.toString()),
                List.of("restart", A.toString()),
                List.of("stop", A.toString()),
                List.of("delete", A.toString()))) {
            assertUnseen(shell.run(words.toArray(String[]::new)));
        }

        assertTrue(ProcessHandle.of(pid).isPresent());
    }

    private void assertUnseen(Result result) {
        String said = result.out() + result.err();
        assertEquals(1, result.status(), said);
        assertTrue(said.contains("could not look: can't see the processes of process/a: " + inTheWay), said);
        assertFalse(said.contains("Exception"), said);
        assertFalse(said.contains("internal error"), said);
    }
}
