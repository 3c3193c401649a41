package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.e2e.Bucket.Stored;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What is to run to its end. */
final class OneShotTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void aScheduledRunWaitsForItsTimeWhichStatusTells() {
        homeostat.applied(Document.process("backup")
                .with("install", "local")
                .with("entryPoint", "/bin/true")
                .with("execution.type", "oneShot")
                .with("execution.triggers.schedule.cron", "0 0 29 2 *")
                .with("execution.triggers.schedule.timezone", "Europe/Berlin"));

        JsonNode status = homeostat.status("process/backup");
        String next = status.at("/execution/nextDue").asText();
        assertTrue(next.matches("20[0-9]{2}-02-28T23:00:00(.000)?Z"), status::toString);
        assertEquals(List.of("CONFIG_INSTALL local"), homeostat.events("process/backup"));
        homeostat.run("plan", "--detailed-exitcode").exits(0);
        assertEquals("STOPPED", status.get("state").asText());
        homeostat.run("status", "process/backup").exits(0).says(next.substring(0, 10));
    }

    @Test
    void aTimeThatHasComeMakesItRun() {
        homeostat.declare(
                "tick.yaml",
                Document.process("tick")
                        .with("install", "local")
                        .with("entryPoint", "/bin/true")
                        .with("execution.type", "oneShot")
                        .with("execution.triggers.schedule.cron", "* * * * *"));
        homeostat.agent();

        eventually().until(() -> homeostat.events("process/tick").contains("EXECUTION_COMPLETED local"));
    }

    @Test
    void aPluginRunsUntilItSaysThatItIsDoneAndNotAgain() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document greeter = atStartup(Document.greeter("greeter", "1", bucket.signedUrl(archive)));

        homeostat.apply(greeter).exits(0).says("plugin/greeter  installed 1");
        homeostat.apply(greeter).exits(0).says("1 unchanged");

        assertEquals("EXECUTION_COMPLETED 1", homeostat.state("plugin/greeter"));
        assertEquals(List.of(), homeostat.processes("plugin/greeter"));
        assertEquals(
                List.of("CONFIG_INSTALL 1", "STARTED 1", "INSTALLED 1", "EXECUTION_COMPLETED 1"),
                homeostat.events("plugin/greeter"));
        homeostat.run("status").exits(0);
    }

    @Test
    void aRunGoesOnWithoutTheAgentAndTheNextOneKnowsHowItEnded() throws IOException {
        Path runs = homeostat.file("runs", "");
        Path go = homeostat.directory().resolve("go");
        homeostat.declare(
                "job.yaml",
                atStartup(Document.script(
                        "job",
                        "echo run >> " + runs + "; i=0; while [ ! -e " + go
                                + " ] && [ $i -lt 3000 ]; do i=$((i+1)); sleep 0.1; done; echo no more; exit 7")));
        AgentProcess agent = homeostat.agentProcess();
        await().atMost(Patience.LONGEST)
                .until(() -> homeostat.state("process/job").startsWith("RUNNING"));

        agent.kill();
        Files.createFile(go);
        await().atMost(Patience.LONGEST)
                .until(() -> homeostat.processes("process/job").isEmpty());
        homeostat.agent();

        // An agent that still starts has not written the event of what status sees.
        await().atMost(Patience.LONGEST)
                .untilAsserted(() -> assertEquals(
                        List.of("CONFIG_INSTALL local", "STARTED local", "INSTALLED local", "EXECUTION_FAILED local"),
                        homeostat.events("process/job")));
        JsonNode run = homeostat.status("process/job").at("/execution/lastRun");
        assertEquals("FAILED", run.get("result").asText());
        assertEquals(7, run.at("/exit/code").asInt());
        assertEquals(List.of("run"), Files.readAllLines(runs));
        JsonNode last = homeostat.events().stream()
                .filter(event -> event.get("type").asText().equals("PLUGIN_EXECUTION_FAILED"))
                .findFirst()
                .orElseThrow();
        assertTrue(last.get("message").asText().contains("status 7"), last::toString);
        assertTrue(last.get("message").asText().endsWith("no more"), last::toString);
    }

    private static Document atStartup(Document document) {
        return document.with("execution", Map.of("type", "oneShot", "triggers", Map.of("startup", true)));
    }
}
