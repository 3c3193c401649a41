package io.homeostat.observe.health;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.grpc.Status.Code;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.proto.plugin.GetStatusRequest;
import io.homeostat.proto.plugin.Status;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.Isolated;

/** What an answer to a health check says of a plugin, or that there is none. */
@Isolated("Holds answers to fractions of a second.")
@Execution(ExecutionMode.SAME_THREAD)
final class PluginHealthTest extends PluginChannelTestBed {
    @Test
    void anAnswerIsHealthWhateverItsCode() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(Health.healthy(NOW), channel.status(socket(), LONG));

            plugin.status = Status.newBuilder()
                    .setCode(1)
                    .addResults("do not restart me")
                    .build();
            assertEquals(
                    new Health(Verdict.HEALTHY, 1, ImmutableList.of("do not restart me"), "", NOW),
                    channel.status(socket(), LONG));
            assertEquals(List.of(GetStatusRequest.getDefaultInstance()), plugin.requests.subList(0, 1));
        }
    }

    @Test
    void anErrorIsIllHealthThatSaysWhichAndShowsNoSecret() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            plugin.failing(Code.INTERNAL, "cannot fetch https://bucket/x?X-Goog-Signature=abc");

            Health health = channel.status(socket(), LONG);
            assertEquals(Verdict.UNHEALTHY, health.verdict());
            assertEquals("GetStatus failed with INTERNAL: cannot fetch https://bucket/x?...", health.problem());
        }
    }

    @Test
    void anErrorWithoutEndIsShownInPart() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            plugin.failing(Code.INTERNAL, "x".repeat(5000));

            assertEquals(
                    500, channel.status(socket(), LONG).problem().length() - "GetStatus failed with INTERNAL".length());
        }
    }

    @Test
    void aPluginThatDoesNotAnswerInTimeHangs() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket()).silent()) {
            // It has to be reached within that, too.
            Health health = channel.status(socket(), Duration.ofSeconds(1));

            assertEquals(Health.failed(Verdict.HUNG, "GetStatus was not answered within 1000 ms", NOW), health);
            await().atMost(LONG).until(() -> plugin.requests.size() == 1);
        }
    }

    @Test
    void aProcessThatTakesConnectionsAndSaysNothingHangs() throws Exception {
        try (ServerSocketChannel mute = listen(socket())) {
            assertEquals(Verdict.HUNG, channel.status(socket(), SHORT).verdict());
            assertTrue(mute.isOpen());
        }
    }

    @Test
    void aProcessThatSpeaksSomethingElseIsUnhealthy() throws Exception {
        try (ServerSocketChannel other = listen(socket())) {
            Thread talker = Thread.ofVirtual().start(() -> {
                try (SocketChannel peer = other.accept()) {
                    peer.write(ByteBuffer.wrap("HTTP/1.0 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
                    while (peer.read(ByteBuffer.allocate(1000)) >= 0) {}
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            assertEquals(Verdict.UNHEALTHY, channel.status(socket(), LONG).verdict());
            talker.join();
        }
    }

    @Test
    void nobodyThereIsUnhealthyAndSaysSo() throws Exception {
        assertEquals(Verdict.UNHEALTHY, channel.status(socket(), LONG).verdict());

        listen(socket()).close();
        Health health = channel.status(socket(), LONG);
        assertEquals(Verdict.UNHEALTHY, health.verdict());
        assertTrue(
                health.problem().contains("UNAVAILABLE") && health.problem().contains("Connection refused"),
                health.problem());
    }

    @Test
    void aPluginThatHasJustComeBackIsReachedAtOnce() throws Exception {
        for (int i = 0; i < 3; i++) {
            assertEquals(Verdict.UNHEALTHY, channel.status(socket(), LONG).verdict());
            try (PluginServer plugin = PluginServer.on(socket())) {
                assertEquals(Verdict.HEALTHY, channel.status(socket(), LONG).verdict());
                assertEquals(1, plugin.requests.size());
            }
        }
    }

    @Test
    void anInterruptedHealthCheckSaysNothingAboutThePlugin() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket()).silent()) {
            FutureTask<Health> call = new FutureTask<>(() -> channel.status(socket(), LONG));
            Thread caller = Thread.ofVirtual().start(call);
            await().atMost(LONG).until(() -> plugin.requests.size() == 1);
            caller.interrupt();

            assertEquals(Verdict.UNKNOWN, call.get().verdict());
        }
    }
}
