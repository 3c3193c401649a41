package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What no instance has to take is shown by plan, stored by apply, and takes no restart. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
class UpdatesInPlaceTest {
    private static final WorkloadId WEB = WorkloadId.process("web");
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    @Test
    void everyChangeOfASettingIsShownStoredAndOver() throws IOException {
        String document = Shell.sleeper("web", 600).replace("{name: web}", "{name: web, labels: {tier: front}}");
        assertEquals(0, apply(document).status());
        long pid = shell.pid(WEB);
        String[][] settings = {
            {"  health: {interval: 5s}", "spec.health.interval: 10s -> 5s"},
            {"  restart: {maxDelay: 1m}", "spec.restart.maxDelay: 5m -> 1m"},
            {"  start: {attempts: 5}", "spec.start.attempts: 3 -> 5"},
            {"  metrics: {maxDatapoints: 7}", "spec.metrics.maxDatapoints: 60 -> 7"},
            {"  probe: {exec: {command: [/bin/true]}}", "spec.probe.exec.command: (none) -> [\"/bin/true\"]"},
            {"  maxDisruption: {label: tier}", "spec.maxDisruption.label: (none) -> tier"},
            {"  maintenanceWindow: {start: \"00:00\", duration: 24h}", "spec.maintenanceWindow.start: (none) -> 00:00"},
            {"  dependsOn: [process/base]", "spec.dependsOn: [] -> [\"process/base\"]"},
        };
        assertEquals(
                0,
                shell.run("apply", "-f", file("base.yaml", Shell.sleeper("base", 600)))
                        .status());
        for (String[] setting : settings) {
            document += setting[0] + "\n";
            assertUpdate(document, setting[1]);
        }
        assertUpdate(document.replace("stop: {timeout: 5s}", "stop: {timeout: 6s}"), "spec.stop.timeout: 5s -> 6s");
        assertUpdate(
                document.replace("tier: front}", "tier: front, team: sre}"), "metadata.labels.team: (none) -> sre");
        assertEquals(pid, shell.pid(WEB));
    }

    private void assertUpdate(String document, String line) throws IOException {
        String file = file("web.yaml", document);
        Result plan = shell.run("plan", "--detailed-exitcode", "-f", file);
        assertEquals(2, plan.status(), plan::toString);
        assertTrue(plan.out().contains("  ~ process/web               update "), plan.out());
        assertTrue(plan.out().contains("        " + line + "\n"), plan.out());
        assertTrue(plan.out().contains(" 1 to update,"), plan.out());
        JsonNode change =
                JSON.readTree(shell.run("plan", "-o", "json", "-f", file).out()).at("/changes/0");
        assertEquals("update", change.at("/action").asText());
        assertEquals("SETTINGS_CHANGED", change.at("/reason").asText());
        assertEquals("[]", change.at("/steps").toString());
        assertTrue(change.at("/after/attributes").has(line.substring(0, line.indexOf(": "))), change::toString);

        Result applied = shell.run("apply", "-f", file);
        assertEquals(0, applied.status(), applied::toString);
        assertTrue(applied.out().contains("process/web   updated ("), applied.out());
        assertTrue(applied.out().contains(" 1 updated,"), applied.out());

        assertEquals(0, shell.run("plan", "--detailed-exitcode").status(), line);
        assertEquals(0, shell.run("plan", "--detailed-exitcode", "-f", file).status(), line);
    }

    private Result apply(String document) throws IOException {
        return shell.run("apply", "-f", file("web.yaml", document));
    }

    private String file(String name, String document) throws IOException {
        return shell.write(name, document).toString();
    }
}
