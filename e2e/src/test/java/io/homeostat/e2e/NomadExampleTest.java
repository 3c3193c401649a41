package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What docs/nomad-drivers.md declares, word for word but for the path of the driver, which is ours. */
final class NomadExampleTest {
    private static final String DRIVER = "/opt/nomad/plugins/raw_exec";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @TempDir
    Path temp;

    @Test
    void theExampleRunsAndItsTaskOutlivesItsDriver() throws IOException {
        Path example = homeostat.file("nomad.yaml", example());

        homeostat.run("plan", "-f", example.toString()).exits(0).says("2 to install");
        homeostat.apply(example).exits(0).says("driver/raw_exec").says("task/clock");
        homeostat.run("plan").exits(0).says("2 unchanged");
        eventually().until(() -> homeostat.run("status").exit() == 0);
        assertEquals("RUNNING", homeostat.status("task/clock").path("state").asText());
        long driver = homeostat.kill("driver/raw_exec");
        homeostat.apply(example).exits(0).says("driver/raw_exec  restarted");

        assertNotEquals(driver, homeostat.status("driver/raw_exec").path("pid").asLong());
        assertEquals(0, homeostat.status("task/clock").path("restarts").asInt());
        assertEquals(1, homeostat.run("events", "--for", "task/clock").out().split("PLUGIN_STARTED", -1).length - 1);
        eventually().until(() -> !homeostat.run("logs", "task/clock").out().isBlank());

        homeostat.run("delete", "task/clock", "driver/raw_exec").exits(0);
        assertFalse(Files.exists(homeostat.runDir().resolve("driver-connections/raw_exec")));
        homeostat.run("status").exits(0);
    }

    private String example() throws IOException {
        String yaml = DocPage.named("docs/nomad-drivers.md").fileShown("nomad.yaml");
        assertTrue(yaml.contains(DRIVER), yaml);
        return yaml.replace(DRIVER, SampleDriver.in(temp).program().toString());
    }
}
