package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.e2e.BrokenServer.End;
import io.homeostat.e2e.Bucket.Stored;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One bad workload never delays the others: a good one beside it is brought up, repaired and upgraded as if it were alone. */
final class NeighboursTest {
    /** Below the minute for which some of the bad ones hang; generous, because a busy machine is slow. */
    private static final Duration AT_ONCE = Duration.ofSeconds(45);

    private static final int CROWD = 60;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Tag("nightly")
    @Test
    void aWorkloadBesideADownloadThatNeverEndsIsServedAtOnce() {
        byte[] archive = TarGz.ofScript("exec sleep 1000");
        End[] never = new End[20];
        Arrays.fill(never, End.NEVER);
        try (BrokenServer stuck = new BrokenServer(archive, never)) {
            for (int i = 0; i < 5; i++) {
                homeostat.declare(
                        "stuck" + i + ".yaml",
                        Document.process("stuck" + i)
                                .with("revision", "1")
                                .with("source.url", stuck.url("run.tar.gz"))
                                .with("source.timeout", "1h")
                                .with("entryPoint", "bin/run"));
            }
            Agent agent = homeostat.agent();
            eventually().until(() -> stuck.served().size() == 5);

            assertGoodIsServedAtOnce();

            assertEquals(5, stuck.served().size());
            assertEquals(
                    "INSTALLING",
                    homeostat.status("process/stuck0").get("state").asText());
            // Nor does it keep the agent from ending.
            within("ended", () -> agent.terminate().exits(0));
        }
    }

    @Tag("nightly")
    @Test
    void aWorkloadBesideStopsThatHangIsServedAtOnce() {
        Stored archive = bucket.put("greeter.tar.gz", Bucket.greeter());
        Document deaf = Document.script("deaf", "trap '' TERM; while :; do sleep 1; done")
                .with("stop.timeout", "60s");
        Document ignorant = Document.greeter("ignorant", "1", bucket.signedUrl(archive))
                .arguments("--fault=ignore-stop")
                .with("stop.timeout", "60s");
        homeostat.declare("deaf.yaml", deaf);
        homeostat.declare("ignorant.yaml", ignorant);
        homeostat.agent();
        homeostat.awaitRunning("process/deaf");
        homeostat.awaitRunning("plugin/ignorant");
        long plugin = homeostat.pid("plugin/ignorant");
        // A short patience with what runs now: it is told to stop for the new declaration.
        homeostat.declare("deaf.yaml", deaf.with("env.NEW", "1"));
        homeostat.declare("ignorant.yaml", ignorant.with("env.NEW", "1"));
        eventually().until(() -> homeostat.run("logs", "plugin/ignorant").out().contains("Stop cleanup"));

        assertGoodIsServedAtOnce();

        assertTrue(Processes.isAlive(plugin));
        // They must not hang when everything is taken away, either.
        homeostat.declare("deaf.yaml", deaf.with("stop.timeout", "1s"));
        homeostat.declare("ignorant.yaml", ignorant.with("stop.timeout", "1s"));
        homeostat.processes("plugin/ignorant").forEach(process -> Processes.kill(process.pid()));
        homeostat.processes("process/deaf").forEach(process -> Processes.kill(process.pid()));
        homeostat.awaitRunning("process/deaf");
        homeostat.awaitRunning("plugin/ignorant");
    }

    @Test
    void aWorkloadBesideCrashLoopsIsServedAtOnce() {
        for (int i = 0; i < 10; i++) {
            homeostat.declare(
                    "looping" + i + ".yaml", Document.script("looping" + i, "sleep " + (1 + i / 10.0) + "; exit 3"));
        }
        homeostat.agent();
        eventually().until(() -> homeostat.run("status").out().contains("in a row"));

        assertGoodIsServedAtOnce();
    }

    @Tag("nightly")
    @Test
    void oneOfManyIsServedAtOnce() {
        List<Document> crowd = IntStream.range(0, CROWD)
                .mapToObj(i -> Document.script("one-of-" + i, "exec sleep 1000"))
                .toList();
        homeostat.declare("crowd.yaml", crowd.toArray(Document[]::new));
        homeostat.agent(AgentConfig.of(homeostat.desired()).with("resync", "1s"));
        eventually().until(() -> homeostat.run("status").exit() == 0);
        List<Document> changed = new ArrayList<>(crowd);
        changed.replaceAll(document -> document.with("env.NEW", "1"));
        homeostat.declare("crowd.yaml", changed.toArray(Document[]::new));

        assertGoodIsServedAtOnce();

        homeostat.awaitRunning("process/one-of-" + (CROWD - 1));
        eventually().until(() -> homeostat.run("status").exit() == 0);
    }

    /** Declared, killed, changed and withdrawn, each within moments. */
    private void assertGoodIsServedAtOnce() {
        Document good = Document.script("good", "exec sleep 1000");
        within("declared", () -> {
            homeostat.declare("good.yaml", good);
            homeostat.awaitRunning("process/good");
        });
        within("killed", () -> homeostat.awaitAnother("process/good", homeostat.kill("process/good")));
        within("changed", () -> {
            long before = homeostat.pid("process/good");
            homeostat.declare("good.yaml", good.with("env.NEW", "1"));
            homeostat.awaitAnother("process/good", before);
            homeostat.awaitRunning("process/good");
        });
        within("withdrawn", () -> {
            homeostat.withdraw("good.yaml");
            eventually().until(() -> homeostat.processes("process/good").isEmpty());
        });
    }

    private static void within(String what, Runnable work) {
        long start = System.nanoTime();
        work.run();
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        assertTrue(took.compareTo(AT_ONCE) < 0, () -> what + " took " + took);
    }
}
