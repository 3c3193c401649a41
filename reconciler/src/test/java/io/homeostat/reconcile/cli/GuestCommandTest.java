package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.reconcile.cli.Shell.Result;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GuestCommandTest {
    @TempDir
    private Path directory;

    @Test
    void withoutARuntimeItSaysWhatToInstall() {
        Shell shell = new Shell(directory);
        assumeTrue(shell.uid() == 0, "only root gets that far");

        Result result = shell.run("guest", "--runtime", "no-such-runtime");

        assertEquals(1, result.status(), result::err);
        assertTrue(result.err().contains("there is no OCI runtime 'no-such-runtime'"), result::err);
        assertTrue(result.err().contains("install runc"), result::err);
    }

    @Test
    void aProgramThatIsNoRuntimeIsNotTakenForOne() {
        Shell shell = new Shell(directory);
        assumeTrue(shell.uid() == 0, "only root gets that far");

        Result result = shell.run("guest", "--runtime", "/bin/false");

        assertEquals(1, result.status(), result::err);
        assertTrue(result.err().contains("/bin/false is no runtime"), result::err);
    }
}
