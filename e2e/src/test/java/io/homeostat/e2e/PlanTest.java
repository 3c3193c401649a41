package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.e2e.Bucket.Stored;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A dry run says what a real run would do, and touches nothing. */
final class PlanTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void aPlanOnAnUntouchedMachineCreatesNothing() {
        Path file = homeostat.file("a.yaml", greeter());

        homeostat.runProcess("plan", "-f", file.toString()).exits(0).says("Plan: 1 to install, 0 to update");
        homeostat.run("plan", "-f", file.toString(), "--detailed-exitcode").exits(2);
        homeostat.run("status").exits(3);

        assertFalse(Files.exists(homeostat.stateDir()));
        assertFalse(Files.exists(homeostat.runDir()));
        assertEquals(0, bucket.requests());
    }

    @Test
    void lookingChangesNoFileNoProcessAndNoEvent() {
        Document greeter = greeter();
        homeostat.applied(greeter, web("1000"));
        homeostat.kill("process/web");
        Path changed = homeostat.file("changed.yaml", greeter.with("revision", "2"), web("2000"));
        SortedMap<String, String> state = stateWithoutLogs();
        SortedMap<String, String> run = Trees.listing(homeostat.runDir());
        int requests = bucket.requests();
        List<Long> processes = pids();

        homeostat.run("plan").exits(0);
        homeostat.run("plan", "-f", changed.toString(), "--prune", "-o", "json").exits(0);
        homeostat.run("events").exits(0);
        homeostat.run("logs", "process/web").exits(0);
        homeostat.run("validate", "-f", changed.toString()).exits(0);
        assertEquals(state, stateWithoutLogs());

        homeostat.run("status").exits(1);

        assertEquals(state, stateWithoutLogs());
        assertEquals(run, Trees.listing(homeostat.runDir()));
        assertEquals(requests, bucket.requests());
        assertEquals(processes, pids());
    }

    /** The greeter notes each GetStatus in its own log. */
    private SortedMap<String, String> stateWithoutLogs() {
        SortedMap<String, String> listing = Trees.listing(homeostat.stateDir());
        listing.keySet().removeIf(name -> name.endsWith("plugin.log"));
        return listing;
    }

    @Tag("nightly")
    @Test
    void aPlanBesideAnUnfinishedLogOfTheDatabaseChangesNothing() {
        Document web = web("1000");
        homeostat.applied(web);
        Path wal = homeostat.stateDir().resolve("homeostat.db-wal");
        for (int attempt = 0; attempt < 10 && !Files.exists(wal); attempt++) {
            Command apply = homeostat.start(
                    "apply",
                    "-f",
                    homeostat.file("b.yaml", web("200" + attempt)).toString());
            while (apply.isRunning() && !Files.exists(wal)) {
                LockSupport.parkNanos(1_000_000);
            }
            apply.kill();
        }
        assertTrue(Files.exists(wal), "no kill left a write-ahead log");
        SortedMap<String, String> before = Trees.listing(homeostat.stateDir());

        homeostat.run("plan").exits(0);
        homeostat.run("status");
        homeostat.run("events").exits(0);

        assertEquals(before, Trees.listing(homeostat.stateDir()));
    }

    @Test
    void theDetailedExitStatusTellsNothingFromSomething() {
        Path file = homeostat.file("a.yaml", web("1000"));
        homeostat.applied(file);

        homeostat.run("plan", "--detailed-exitcode").exits(0).says("1 unchanged");
        homeostat.run("plan", "-f", file.toString(), "--detailed-exitcode").exits(0);
        homeostat
                .run("plan", "-f", homeostat.file("b.yaml", web("2000")).toString(), "--detailed-exitcode")
                .exits(2);
        homeostat
                .run("plan", "-f", homeostat.file("c.yaml", "kind: Nonsense\n").toString(), "--detailed-exitcode")
                .exits(1);
        homeostat.run("delete", "process/web").exits(0);
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @Test
    void thePlanAsJsonHasTheFormThatWasPromised() {
        Document greeter = greeter();
        Path file = homeostat.file("a.yaml", greeter, web("1000"));

        JsonNode plan = homeostat.plan("-f", file.toString());

        assertEquals("1.0", plan.get("formatVersion").asText());
        assertEquals(List.of("formatVersion", "changes", "drift", "summary"), Shapes.keys(plan));
        JsonNode change = plan.at("/changes/0");
        assertEquals(
                List.of("workload", "action", "reason", "message", "steps", "before", "after"), Shapes.keys(change));
        assertEquals("plugin/greeter", change.get("workload").asText());
        assertEquals("install", change.get("action").asText());
        assertEquals("NOT_INSTALLED", change.get("reason").asText());
        assertEquals(List.of("download", "unpack", "activate", "launch", "start"), Shapes.texts(change.get("steps")));
        assertTrue(change.get("before").isNull());
        assertEquals("{\"revision\":\"1\"}", change.get("after").toString());
        assertEquals(List.of("launch"), Shapes.texts(plan.at("/changes/1/steps")));
        assertEquals(
                "{\"install\":2,\"update\":0,\"repair\":0,\"remove\":0,\"unchanged\":0}",
                plan.get("summary").toString());

        homeostat.applied(file);
        homeostat.kill("process/web");
        JsonNode drift = homeostat.plan();
        assertEquals(0, drift.get("changes").size());
        assertEquals("PROCESS_EXITED", drift.at("/drift/0/reason").asText());
        assertEquals("{\"revision\":\"local\"}", drift.at("/drift/0/after").toString());
        assertEquals(1, drift.at("/summary/repair").asInt());
        assertEquals(1, drift.at("/summary/unchanged").asInt());
    }

    @Test
    void whatAPlanSaysIsWhatApplyThenDoes() {
        Document greeter = greeter();
        homeostat.applied(greeter, web("1000"));
        Path changed = homeostat.file("desired.yaml", greeter.with("revision", "2"));
        homeostat.file("web.yaml", web("2000"));

        JsonNode plan = homeostat.plan("-f", changed.toString(), "--prune");
        JsonNode done = homeostat
                .run("apply", "-f", changed.toString(), "--prune", "-o", "json")
                .exits(0)
                .json();

        assertEquals(List.of("upgrade", "remove"), actions(plan.get("changes")));
        assertEquals(List.of("upgrade", "remove"), actions(done.get("workloads")));
        assertEquals(1, done.at("/summary/updated").asInt());
        assertEquals(1, done.at("/summary/removed").asInt());
    }

    @Test
    void secretsAreInNoPlan() {
        Document greeter = greeter();
        homeostat.keepsSecret("open-sesame");
        homeostat.applied(greeter.config("nothing"));
        Path changed = homeostat.file(
                "changed.yaml",
                greeter.with("config", Map.of("struct", Map.of("password", "open-sesame")))
                        .with("env", Map.of("TOKEN", "open-sesame-2")));

        homeostat.run("plan", "-f", changed.toString()).exits(0);
        homeostat.run("plan", "-f", changed.toString(), "-o", "json").exits(0);
        homeostat
                .runProcess("--log-level", "debug", "plan", "-f", changed.toString())
                .exits(0);
    }

    private static List<String> actions(JsonNode plans) {
        return Shapes.stream(plans).map(plan -> plan.get("action").asText()).toList();
    }

    private List<Long> pids() {
        return java.util.stream.Stream.concat(
                        homeostat.processes("plugin/greeter").stream(), homeostat.processes("process/web").stream())
                .map(Processes.Seen::pid)
                .toList();
    }

    private static Document web(String seconds) {
        return Document.script("web", "exec sleep " + seconds);
    }

    private Document greeter() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        homeostat.keepsSecret(archive.signature());
        return Document.greeter("greeter", "1", bucket.signedUrl(archive)).with("source.sha256", archive.sha256());
    }
}
