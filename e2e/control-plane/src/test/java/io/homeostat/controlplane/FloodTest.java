package io.homeostat.controlplane;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.homeostat.proto.acs.StreamAgentMessagesResponse;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Much at once. */
final class FloodTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int AGENTS = 1_000;

    @TempDir
    private Path directory;

    @Test
    void aFloodGoesOnWhileItIsReadAndEndsWhenTold() throws Exception {
        AtomicInteger poured = new AtomicInteger();
        Supplier<ByteString> nonsense = Nonsense.messages(1);
        try (FakeControlPlane plane = FakeControlPlane.onUnixSocket(directory.resolve("acs.sock"));
                FakeAgent agent = FakeAgent.registered(plane)) {
            Connection connection = plane.awaitConnection(PATIENCE);
            connection.flood(() -> {
                poured.incrementAndGet();
                return nonsense.get();
            });
            await().atMost(PATIENCE).until(() -> agent.heard().size() > 2_000);
            connection.stopFlood();
            int told = poured.get();
            await().atMost(PATIENCE).until(() -> agent.heard().size() > told);
            Sent sent = plane.send(Bodies.getAgentInfo());
            await().atMost(PATIENCE)
                    .until(() -> agent.heard().getLast().getMessageId().equals(sent.id()));
            assertFalse(agent.ended().isDone());
        }
    }

    @Test
    void nonsenseIsTheSameForTheSameSeed() throws Exception {
        Supplier<ByteString> one = Nonsense.messages(7);
        Supplier<ByteString> other = Nonsense.messages(7);
        for (int i = 0; i < 1_000; i++) {
            ByteString next = one.get();
            assertEquals(next, other.get());
            assertEquals(next, StreamAgentMessagesResponse.parseFrom(next).toByteString());
        }
    }

    @Test
    void someNonsenseIsNoMessage() {
        Supplier<ByteString> bytes = Nonsense.bytes(7);
        for (int i = 0; i < 100; i++) {
            assertThrows(
                    InvalidProtocolBufferException.class, () -> StreamAgentMessagesResponse.parseFrom(bytes.get()));
        }
    }

    @Test
    void aThousandAgentsNeedThreeThreads() throws Exception {
        MultiThreadIoEventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        List<FakeAgent> agents = new ArrayList<>();
        try (FakeControlPlane plane = FakeControlPlane.onUnixSocket(directory.resolve("acs.sock"))) {
            for (int i = 0; i < AGENTS; i++) {
                FakeAgent agent = new FakeAgent(FakeAgent.channel(plane, loop), FakeAgent.RESOURCE + i, "");
                agent.register();
                agents.add(agent);
            }
            plane.transcript()
                    .awaitThat("all agents", PATIENCE, _ -> plane.connections().size() == AGENTS);
            plane.send(FakeAgent.RESOURCE + 17, Bodies.getAgentInfo());
            await().atMost(PATIENCE).until(() -> agents.get(17).heard().size() == 2);
            assertEquals(1, agents.get(18).heard().size());
            await().atMost(PATIENCE).until(() -> threads() <= 3);
        } finally {
            for (FakeAgent agent : agents) {
                agent.close();
            }
            loop.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS).sync();
        }
    }

    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("fake-control-plane"))
                .count();
    }
}
