package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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

    @Test
    void severalChangesShowAllTheirReasonsAndValues() throws IOException {
        String document = Shell.sleeper("web", 600) + "  env: {TOKEN: hunter2000}\n";
        assertEquals(0, apply(document).status());
        String changed = file(
                "web.yaml",
                document.replace("\"600\"", "\"601\"").replace("hunter2000", "hunter3000")
                        + "  limits: {memory: 64Mi}\n  health: {interval: 5s}\n");

        Result text = shell.run("plan", "-f", changed);
        Result json = shell.run("plan", "-o", "json", "-f", changed);

        assertTrue(text.out().contains("(arguments changed; environment changed; limits changed)"), text.out());
        assertTrue(text.out().contains("        spec.arguments[0]: 600 -> 601\n"), text.out());
        assertTrue(text.out().contains("        spec.env.TOKEN: (masked) -> (masked, another value)\n"), text.out());
        assertTrue(text.out().contains("        spec.limits.memory: (none) -> 64Mi\n"), text.out());
        JsonNode change = JSON.readTree(json.out()).at("/changes/0");
        assertEquals("ARGUMENTS_CHANGED", change.at("/reason").asText());
        assertEquals(
                "[\"ARGUMENTS_CHANGED\",\"ENVIRONMENT_CHANGED\",\"LIMITS_CHANGED\",\"SETTINGS_CHANGED\"]",
                change.at("/reasons").toString());
        assertEquals("600", change.at("/before/attributes/spec.arguments[0]").asText());
        assertEquals("601", change.at("/after/attributes/spec.arguments[0]").asText());
        assertFalse((text.out() + json.out()).contains("hunter"), text.out());
    }

    @Test
    void ofLongValuesThatIsShownWhichDiffers() throws IOException {
        String begin = "a".repeat(100);
        String document = Shell.sleeper("web", 600) + "  env: {LONG: " + begin + "-one}\n";
        assertEquals(0, apply(document).status());

        Result text = shell.run("plan", "-f", file("web.yaml", document.replace("-one}", "-two}")));

        String same = "..." + "a".repeat(56);
        assertTrue(
                text.out()
                        .contains("spec.env.LONG: " + same + "-one (104 characters) -> " + same
                                + "-two (104 characters)\n"),
                text.out());
    }

    private Result apply(String document) throws IOException {
        return shell.run("apply", "-f", file("web.yaml", document));
    }

    private String file(String name, String document) throws IOException {
        return shell.write(name, document).toString();
    }
}
