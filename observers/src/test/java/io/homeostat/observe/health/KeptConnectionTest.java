package io.homeostat.observe.health;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.grpc.Status.Code;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.PluginChannel.Peer;
import java.nio.file.Files;
import org.junit.jupiter.api.Test;

/** How long the connection over which a plugin is asked for its health is kept. */
class KeptConnectionTest extends PluginChannelTestBed {
    private Peer peer() {
        return new Peer(socket(), "launch-1", "inode-1");
    }

    private Verdict ask(Peer peer) {
        return channel.status(peer, LONG).verdict();
    }

    @Test
    void oneIsEnoughForAllQuestionsToALaunch() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            for (int i = 0; i < 5; i++) {
                assertEquals(Verdict.HEALTHY, ask(peer()));
            }
            assertEquals(1, plugin.connections.get());
            assertEquals(5, plugin.requests.size());
        }
    }

    @Test
    void anotherLaunchOrAnotherSocketOfThatNameIsAskedOverAnotherOne() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(Verdict.HEALTHY, ask(peer()));
            assertEquals(Verdict.HEALTHY, ask(new Peer(socket(), "launch-2", "inode-1")));
            assertEquals(2, plugin.connections.get());
            assertEquals(Verdict.HEALTHY, ask(new Peer(socket(), "launch-2", "inode-2")));
            assertEquals(3, plugin.connections.get());
            assertEquals(1, channel.connections());
        }
    }

    @Test
    void itGoesWithThePluginAndNobodyIsTakenForDeadBecauseItBroke() throws Exception {
        for (int i = 0; i < 20; i++) {
            try (PluginServer _ = PluginServer.on(socket())) {
                // At once, when it may not have been noticed yet that the one before is gone.
                assertEquals(Verdict.HEALTHY, ask(peer()));
            }
        }
        await().atMost(LONG).until(() -> channel.connections() == 0);
        assertEquals(Verdict.UNHEALTHY, ask(peer()));
        assertEquals(0, channel.connections());
    }

    @Test
    void aQuestionThatFailsEndsIt() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(Verdict.HEALTHY, ask(peer()));
            plugin.silent();
            assertEquals(Verdict.HUNG, channel.status(peer(), SHORT).verdict());
            assertEquals(0, channel.connections());
            plugin.silent = false;
            assertEquals(Verdict.HEALTHY, ask(peer()));
            assertEquals(2, plugin.connections.get());

            plugin.failing(Code.UNAVAILABLE, "busy");
            Health health = channel.status(peer(), LONG);
            assertEquals(Verdict.UNHEALTHY, health.verdict());
            assertEquals("GetStatus failed with UNAVAILABLE: busy", health.problem());
            assertEquals(0, channel.connections());
        }
    }

    @Test
    void itDoesNotHideForeverThatNobodyAcceptsAnother() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(Verdict.HEALTHY, ask(peer()));
            Files.delete(socket());
            listen(socket()).close();
            nanos.set(PluginChannel.KEPT.toNanos() - 1);
            assertEquals(Verdict.HEALTHY, ask(peer()));

            nanos.set(PluginChannel.KEPT.toNanos());
            assertEquals(Verdict.UNHEALTHY, ask(peer()));
            assertEquals(Verdict.UNHEALTHY, ask(peer()));
            assertEquals(1, plugin.connections.get());
        }
    }

    @Test
    void noneIsLeftWhenTheChannelIsClosed() throws Exception {
        try (PluginServer _ = PluginServer.on(socket())) {
            assertEquals(Verdict.HEALTHY, ask(peer()));
            channel.close();
            assertEquals(0, channel.connections());
            assertEquals(Verdict.UNKNOWN, ask(peer()));
            assertEquals(0, channel.connections());
        }
    }
}
