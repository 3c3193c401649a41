package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.homeostat.desired.platform.FileOwner;
import io.homeostat.reconcile.cli.Shell.Result;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.StandardOutput;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of output that can't be written, and of input that can't be read. */
class OutputTest {
    private static final int MORE_THAN_A_PIPE_HOLDS = 1 << 20;

    @TempDir
    Path directory;

    @Test
    void aResultThatCouldNotBeWrittenIsAFailure() throws IOException {
        Shell shell = new Shell(directory);
        shell.write("a.yaml", Shell.sleeper("a", 1));
        String[][] commands = {
            {"version"},
            {"validate", "-f", directory + "/a.yaml"},
            {"schema"},
            {"plan", "-f", directory + "/a.yaml", "--detailed-exitcode", "--state-dir", "state", "--run-dir", "run"}
        };
        for (String[] words : commands) {
            try (OutputStream full = new FileOutputStream("/dev/full")) {
                Result result = shell.into(full, words);
                assertEquals(1, result.status(), words[0]);
                assertEquals(
                        "homeostat: " + words[0] + ": what it found could not be written to standard output\n",
                        result.err());
            }
        }
    }

    @Test
    void whatHasFailedAnywayKeepsItsStatus() throws IOException {
        try (OutputStream full = new FileOutputStream("/dev/full")) {
            assertEquals(64, new Shell(directory).into(full, "frobnicate").status());
        }
    }

    @Test
    void whoeverHasReadEnoughOfAPipeMayCloseIt() throws Exception {
        Process reader = new ProcessBuilder("sh", "-c", "exec <&-; echo closed; exec sleep 60").start();
        try {
            assertEquals("closed", reader.inputReader().readLine());
            OutputStream pipe = new StandardOutput.UntilBrokenPipe(reader.getOutputStream());
            pipe.write(new byte[MORE_THAN_A_PIPE_HOLDS]);
            pipe.write('\n');
            pipe.flush();
        } finally {
            reader.destroyForcibly().waitFor();
        }
    }

    @Test
    void aFullDiskIsNotTakenForAClosedPipe() throws IOException {
        try (OutputStream full = new StandardOutput.UntilBrokenPipe(new FileOutputStream("/dev/full"))) {
            assertThrows(IOException.class, () -> full.write('x'));
        }
    }

    @Test
    void whoseALogIsThatMayNotBeReadIsSaid(@TempDir Path directory) throws IOException {
        // That of another user: root can make one, and others have root's.
        Path log = Path.of("/etc/passwd");
        if (System.getProperty("user.name").equals("root")) {
            log = Files.createFile(directory.resolve("process.log"));
            Files.setAttribute(log, "unix:uid", 65534);
        }

        assertEquals(
                "permission denied; it belongs to "
                        + FileOwner.of(log).orElseThrow().words() + ", run as that user",
                CommandFailure.reason(new AccessDeniedException(log.toString())));
    }

    @Test
    void whyALogCannotBeReadIsSaidInWords() {
        assertEquals(
                "permission denied; run as the user that the state directory belongs to",
                CommandFailure.reason(new AccessDeniedException("/x/a.log")));
        assertEquals(
                "Too many levels of symbolic links",
                CommandFailure.reason(new FileSystemException("/x/a.log", null, "Too many levels of symbolic links")));
        assertEquals("Is a directory", CommandFailure.reason(new IOException("Is a directory")));
    }
}
