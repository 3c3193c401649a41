package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.e2e.Bucket.Stored;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The machine moved, the intent did not: plan says so with the reason, apply repairs it. */
final class DriftTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void aKilledPluginIsSeenByPlanAndRepairedByApply() {
        Document greeter = greeter();
        homeostat.applied(greeter);
        long dead = homeostat.kill("plugin/greeter");

        JsonNode drift = homeostat.plan().at("/drift/0");
        assertEquals("plugin/greeter", drift.get("workload").asText());
        assertEquals("restart", drift.get("action").asText());
        assertEquals("PROCESS_EXITED", drift.get("reason").asText());
        String message = drift.get("message").asText();
        assertTrue(message.contains("9 (SIGKILL)") && message.contains("its log"), message);
        JsonNode crashed = homeostat.status("plugin/greeter");
        assertEquals("CRASHED", crashed.get("state").asText());
        assertEquals(9, crashed.at("/lastExit/signal").asInt());
        assertEquals("SIGNALED", crashed.at("/lastExit/reason").asText());
        homeostat.run("status").exits(1);

        homeostat
                .apply(greeter)
                .exits(0)
                .says("restarted (")
                .says("9 (SIGKILL)")
                .says("its log")
                .says("1 repaired");

        assertNotEquals(dead, homeostat.pid("plugin/greeter"));
        assertEquals(1, homeostat.status("plugin/greeter").get("restarts").asInt());
        assertEquals(
                List.of("CRASHED 1", "STARTED 1"),
                homeostat.events("plugin/greeter").subList(3, 5));
        assertEquals(1, bucket.requests());
    }

    @Test
    void theWayAProcessEndedIsKnownAlthoughNobodyWatched() {
        String go = homeostat.directory().resolve("go").toString();
        Path web = homeostat.file(
                "web.yaml", Document.script("web", "while [ ! -e " + go + " ]; do sleep 0.1; done; exit 9"));
        homeostat.runProcess("apply", "-f", web.toString()).exits(0);
        homeostat.end("process/web", _ -> homeostat.file("go", ""));

        JsonNode status = homeostat.status("process/web");

        assertEquals(9, status.at("/lastExit/code").asInt());
        assertTrue(status.at("/lastExit/signal").isNull());
        assertEquals("EXITED", status.at("/lastExit/reason").asText());
        homeostat.run("plan").says("! process/web").says("status 9)");
    }

    @Test
    void aWorkloadOutlivesTheCommandThatStartedIt() {
        Document web = Document.script("web", "trap '' HUP INT; while :; do echo tick; sleep 0.2; done");

        Result applied = homeostat
                .runProcess("apply", "-f", homeostat.file("web.yaml", web).toString())
                .exits(0);

        long pid = homeostat.pid("process/web");
        long ticks = ticks();
        eventually().until(() -> ticks() > ticks + 2);
        assertEquals(pid, homeostat.pid("process/web"));
        applied.doesNotSay("tick");
    }

    @Test
    void aLostInstallationIsPutBack() throws IOException {
        Document run = Document.process("run")
                .with("revision", "1")
                .with("source.url", bucket.signedUrl(bucket.put("r.tar.gz", TarGz.ofScript("exec sleep 1000"))))
                .with("entryPoint", "bin/run");
        homeostat.applied(run);
        Trees.delete(homeostat.installs("processes").resolve("run_1"));

        assertEquals("reinstall INSTALL_MISSING", homeostat.planned("process/run"));
        homeostat.applied(run);

        assertTrue(Files.isExecutable(homeostat.installs("processes").resolve("run_1/bin/run")));
        assertEquals("RUNNING 1", homeostat.state("process/run"));
        assertEquals(1, homeostat.processes("process/run").size());
    }

    @Test
    void aSymlinkThatWasMovedIsPutRightWithoutARestart() throws IOException {
        Document run = Document.process("run")
                .with("revision", "1")
                .with("source.url", bucket.signedUrl(bucket.put("r.tar.gz", TarGz.ofScript("exec sleep 1000"))))
                .with("entryPoint", "bin/run");
        homeostat.applied(run);
        long pid = homeostat.pid("process/run");
        Path link = homeostat.installs("processes").resolve("run");
        Files.delete(link);

        homeostat.applied(run).says("activated");

        assertEquals("run_1", link.toRealPath().getFileName().toString());
        assertEquals(pid, homeostat.pid("process/run"));
    }

    private long ticks() {
        return homeostat.run("logs", "process/web").exits(0).out().lines().count();
    }

    private Document greeter() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        return Document.greeter("greeter", "1", bucket.signedUrl(archive)).with("source.sha256", archive.sha256());
    }
}
