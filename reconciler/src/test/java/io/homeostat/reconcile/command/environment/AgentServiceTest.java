package io.homeostat.reconcile.command.environment;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AgentServiceTest {
    private static final Layout ROOTS = new Layout(Path.of("/var/lib/homeostat"), Path.of("/run/homeostat"), "i");

    @TempDir
    Path root;

    @Test
    void whereSystemdHasAServiceItStartsTheAgent() throws IOException {
        Files.createDirectories(root.resolve("run/systemd/system"));
        Path unit = Files.createDirectories(root.resolve("lib/systemd/system")).resolve("homeostat.service");
        assertEquals("homeostat run", AgentService.start(ROOTS, root), "no service");

        Files.createFile(unit);

        assertEquals("systemctl start homeostat", AgentService.start(ROOTS, root));
        Layout other = new Layout(Path.of("/srv/homeostat"), Path.of("/run/homeostat"), "i");
        assertEquals("homeostat run", AgentService.start(other, root), "the service is of another state directory");

        Files.delete(root.resolve("run/systemd/system"));
        assertEquals("homeostat run", AgentService.start(ROOTS, root), "installed, but systemd does not run");
    }
}
