package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What root runs beside workloads of others. */
class UserSwitchTest {
    @TempDir
    Path root;

    private Path open = Path.of("/nonexistent");

    @BeforeEach
    void setUp() throws IOException {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root has something to lose");
        open = Files.createDirectory(root.resolve("open"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
    }

    private static Path script(Path file, String interpreter) throws IOException {
        Files.writeString(file, "#!" + interpreter + " -u\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static void assertRefused(Path script, String why) throws IOException {
        String problem = UserSwitch.problemAsRoot(script).orElse("");
        assertTrue(problem.startsWith(why), problem);
    }

    @Test
    void anInterpreterCountsAsMuchAsItsScript() throws Exception {
        Path theirs = Files.copy(Path.of("/bin/sh").toRealPath(), open.resolve("sh"));

        assertEquals(Optional.empty(), UserSwitch.problemAsRoot(script(root.resolve("good"), "/bin/sh")));
        assertEquals(Optional.empty(), UserSwitch.problemAsRoot(script(root.resolve("from-root"), "bin/sh")));
        Path bad = script(root.resolve("bad"), theirs.toString());
        assertRefused(bad, open + " may be written to by everybody");
        assertRefused(script(root.resolve("worse"), bad.toString()), open + " may be written to by everybody");
    }

    @Test
    void anInterpreterThatOthersCouldPutThereLaterIsRefused() throws Exception {
        Path absent = script(root.resolve("absent"), open.resolve("none").toString());
        Path endless = root.resolve("endless");

        assertRefused(absent, absent + " has an interpreter in its first line that is not there");
        assertEquals(Optional.empty(), UserSwitch.problemAsRoot(script(endless, endless.toString())));
    }
}
