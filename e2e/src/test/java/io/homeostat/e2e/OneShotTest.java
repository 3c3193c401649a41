package io.homeostat.e2e;

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
        Agent agent = homeostat.agent();
        await().atMost(Patience.LONGEST)
                .until(() -> homeostat.state("process/job").startsWith("RUNNING"));

        agent.kill();
        Files.createFile(go);
        await().atMost(Patience.LONGEST)
                .until(() -> homeostat.processes("process/job").isEmpty());
        homeostat.agent();

        await().atMost(Patience.LONGEST)
                .until(() -> homeostat.state("process/job").startsWith("EXECUTION_FAILED"));
        JsonNode run = homeostat.status("process/job").at("/execution/lastRun");
        assertEquals("FAILED", run.get("result").asText());
        assertEquals(7, run.at("/exit/code").asInt());
        assertEquals(List.of("run"), Files.readAllLines(runs));
        assertEquals(
                List.of("CONFIG_INSTALL local", "STARTED local", "INSTALLED local", "EXECUTION_FAILED local"),
                homeostat.events("process/job"));
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
