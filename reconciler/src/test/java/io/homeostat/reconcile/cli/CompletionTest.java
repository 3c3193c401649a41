package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.reconcile.cli.Shell.Result;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What shells are told; the shells themselves are asked in the tests of the built program. */
class CompletionTest {
    @TempDir
    Path directory;

    @Test
    void nothingIsSaidOfWhatIsNoPath() {
        assertEquals(
                new Result(0, ":words\n", ""),
                new Shell(directory).plain("complete", "--", "--state-dir", "\0", "logs", ""));
    }
}
