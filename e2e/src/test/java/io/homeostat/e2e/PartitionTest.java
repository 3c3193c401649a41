package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.Sent;
import io.homeostat.e2e.Bucket.Stored;
import io.homeostat.proto.acp.PluginEventMessage;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.ResourceLock;

/** A control plane that is away, and an agent that is killed: nothing is lost, and nothing done twice. */
@Tag("nightly")
@ResourceLock("the agent of PartitionTest")
final class PartitionTest {
    private static final int SEED = 20261121;
    private static final int KILLS = Boolean.getBoolean("nightly") ? 6 : 3;
    private static final int LONGEST_MILLIS = 400;

    @RegisterExtension
    static final Commanded COMMANDED = Commanded.inProcess();

    @Test
    void row17WhatHappensWhileTheControlPlaneIsAwayIsToldAfterwardsInItsOrderAlsoByTheNextAgent() throws Exception {
        Homeostat homeostat = COMMANDED.homeostat();
        Stored archive = COMMANDED.bucket().put("greeter.tar.gz", Bucket.greeter());
        COMMANDED.configure(
                Items.greeter("one", "1", COMMANDED.bucket(), archive),
                Items.greeter("two", "1", COMMANDED.bucket(), archive));
        COMMANDED.awaitEvents("one", "CONFIG_INSTALL 1", "STARTED 1", "INSTALLED 1");
        COMMANDED.awaitEvents("two", "CONFIG_INSTALL 1", "STARTED 1", "INSTALLED 1");
        COMMANDED.plane().goAway();

        crash("one");
        crash("two");
        COMMANDED.process().kill();
        COMMANDED.startAgent().awaitReady();
        crash("one");
        int queued = homeostat.events().size();
        assertEquals(6, COMMANDED.plane().transcript().events().size(), () -> queued + " events are stored");
        COMMANDED.plane().comeBack();

        COMMANDED.awaitEvents("one", "CRASHED 1", "STARTED 1", "CRASHED 1", "STARTED 1");
        COMMANDED.awaitEvents("two", "CRASHED 1", "STARTED 1");
        for (String plugin : List.of("one", "two")) {
            List<Instant> times = COMMANDED.plane().transcript().events(plugin).stream()
                    .map(PluginEventMessage::getEventTimestamp)
                    .map(time -> Instant.ofEpochSecond(time.getSeconds(), time.getNanos()))
                    .toList();
            assertEquals(times.stream().sorted().toList(), times);
        }
        assertEquals(List.of(), COMMANDED.plane().transcript().violations());
    }

    @Test
    void anAgentThatIsKilledAroundItsAcknowledgementsLosesNothingThatItWasSent() throws Exception {
        Random random = new Random(SEED);
        List<String> expected = new ArrayList<>();
        Stored broken = COMMANDED.bucket().put("broken.tar.gz", "no archive".getBytes(StandardCharsets.UTF_8));
        for (int kill = 1; kill <= KILLS; kill++) {
            String revision = Integer.toString(kill);
            COMMANDED.plane().awaitConnection(Patience.LONGEST);
            Sent sent = COMMANDED
                    .plane()
                    .send(Bodies.configure(Items.once(Items.greeter("killed", revision, COMMANDED.bucket(), broken))));
            // Not a sleep until something is there: the moment is meant to be any.
            LockSupport.parkNanos(random.nextInt(LONGEST_MILLIS) * 1_000_000L);
            COMMANDED.process().kill();
            COMMANDED.startAgent();

            assertEquals(0, sent.awaitAcknowledgement(Patience.LONGEST).getCode());
            expected.addAll(List.of("CONFIG_INSTALL " + revision, "INSTALL_FAILED " + revision));
            // What was stored and not acknowledged comes again, and is taken again: it may be told twice.
            COMMANDED
                    .plane()
                    .transcript()
                    .awaitThat(
                            "the events " + expected,
                            Patience.LONGEST,
                            transcript -> transcript.story("killed").containsAll(expected));
        }
        assertEquals(
                expected,
                COMMANDED.plane().transcript().story("killed").stream()
                        .distinct()
                        .toList());
        assertEquals(
                Integer.toString(KILLS), COMMANDED.state("killed").orElseThrow().getCurrentRevisionId());
    }

    /** Killed before it is known to run well it would be a failed start. */
    private static void crash(String plugin) {
        Homeostat homeostat = COMMANDED.homeostat();
        homeostat.awaitRunning("plugin/" + plugin);
        homeostat.awaitAnother("plugin/" + plugin, homeostat.kill("plugin/" + plugin));
        homeostat.awaitRunning("plugin/" + plugin);
    }
}
