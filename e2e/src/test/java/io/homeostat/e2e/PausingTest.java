package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What is paused is left alone, whatever becomes of it, until it is resumed. */
final class PausingTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void withoutAnAgentADependencyIsStoppedStartedAndDeletedLikeAnyOther() {
        Document database = Document.process("db")
                .with("install", "local")
                .with("entryPoint", "/bin/sleep")
                .arguments("1000");
        Document web = Document.process("web")
                .with("install", "local")
                .with("entryPoint", "/bin/sleep")
                .with("dependsOn", List.of("process/db"))
                .arguments("1000");
        homeostat.applied(database, web);
        long pid = homeostat.pid("process/web");

        for (String command : List.of("stop", "start", "delete")) {
            homeostat
                    .runProcess(command, "process/db")
                    .exits(0)
                    .doesNotSay("Exception")
                    .doesNotSay("process/web")
                    .doesNotSay("ERROR");
        }

        assertEquals(pid, homeostat.pid("process/web"));
        homeostat
                .runProcess("delete", "process/web")
                .exits(0)
                .doesNotSay("Exception")
                .doesNotSay("process/db");
    }

    @Test
    void aPausedProcessStaysDeadUntilItIsResumed() {
        Document sleeper = Document.script("sleeper", "exec sleep 1000");
        homeostat.applied(sleeper);
        homeostat
                .run("pause", "process/sleeper", "--reason", "a look by hand")
                .exits(0)
                .says("process/sleeper is paused");
        long killed = homeostat.kill("process/sleeper");

        homeostat.apply(sleeper).exits(1).says("a look by hand");

        assertEquals(List.of(), homeostat.processes("process/sleeper"));
        JsonNode status = homeostat.status("process/sleeper");
        assertTrue(status.get("pid").isNull(), status::toString);
        assertEquals("CRASHED", status.get("state").asText());
        assertEquals("True", Homeostat.condition(status, "Paused"));
        assertEquals("False", Homeostat.condition(status, "Converged"));
        // Nothing was done, but what happened is known.
        assertTrue(homeostat.events("process/sleeper").stream().anyMatch(event -> event.startsWith("CRASHED")));

        homeostat.run("resume", "process/sleeper").exits(0).says("process/sleeper is enforced");
        homeostat.applied(sleeper);

        assertNotEquals(killed, homeostat.pid("process/sleeper"));
        assertEquals("False", Homeostat.condition(homeostat.status("process/sleeper"), "Paused"));
        List<String> events = homeostat.events("process/sleeper");
        assertTrue(events.contains("AGENT_PAUSED "), events::toString);
        assertTrue(events.contains("AGENT_RESUMED "), events::toString);
    }
}
