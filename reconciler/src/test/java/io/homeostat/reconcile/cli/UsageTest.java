package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.base.Splitter;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command line itself: words, options, exit statuses. */
class UsageTest {
    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @Test
    void noCommandIsAnErrorThatShowsTheCommands() {
        Result result = shell.plain();
        assertEquals(64, result.status());
        assertEquals("", result.out());
        assertTrue(result.err().contains("validate"), result.err());
    }

    @Test
    void helpListsWhatExistsAndNothingElse() {
        Result result = shell.plain("--help");
        assertEquals(0, result.status());
        List<String> commands = Splitter.on(' ')
                .splitToList(
                        "init bundle validate publish fleet plan apply delete pause resume run status events logs stop start"
                                + " reset verify states vm-event watch ui doctor diagnostics explain schema completion version");
        for (String command : commands) {
            assertTrue(result.out().contains("\n  " + command + " "), command);
        }
        assertFalse(result.out().contains("\n  self-train"), "not for people");
    }

    @Test
    void everyCommandHasHelp() {
        for (Verb verb : Verb.values()) {
            Result result = shell.plain(verb.word(), "--help");
            assertEquals(0, result.status(), verb.word());
            assertTrue(result.out().contains("Usage: homeostat " + verb.word()), result.out());
            assertEquals("", result.err());
        }
    }

    @Test
    void theQuickstartIsValid() {
        Path quickstart = Path.of("..", "examples", "quickstart").toAbsolutePath();
        assertEquals(
                "2 documents valid\n",
                shell.plain("validate", "-f", quickstart.toString()).out());
    }

    @Test
    void theStackTraceIsForThoseWhoAskForIt() throws IOException {
        Files.createDirectory(directory.resolve("state"));
        Files.createDirectory(directory.resolve("state").resolve("homeostat.db"));
        Result result = shell.run("plan");
        assertEquals(1, result.status());
        assertEquals(1, result.err().lines().count(), result.err());
        assertTrue(result.err().startsWith("homeostat: plan: "), result.err());
        Result debug = shell.run("plan", "--log-level", "debug");
        assertTrue(debug.err().contains("\tat io.homeostat"), debug.err());
    }
}
