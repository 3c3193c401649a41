package io.homeostat.observe.health;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.Iterables;
import com.google.protobuf.Struct;
import io.grpc.Status.Code;
import io.homeostat.desired.model.Config;
import io.homeostat.observe.Observation;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.PluginChannel.PluginReply;
import io.homeostat.proto.plugin.ApplyRequest;
import io.homeostat.proto.plugin.StartRequest;
import io.homeostat.proto.plugin.Status;
import io.homeostat.proto.plugin.StopRequest;
import java.net.SocketException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.Isolated;

/** What a plugin is told, and what a call leaves behind. */
@Isolated("Counts all of this JVM's threads, and takes over what it logs.")
@Execution(ExecutionMode.SAME_THREAD)
final class PluginChannelTest extends PluginChannelTestBed {
    @Test
    void onlySoMuchIsKeptOfWhatAPluginSaysOfItself() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            Status.Builder status = Status.newBuilder().setCode(7);
            for (int i = 0; i < 1_000_000; i++) {
                status.addResults("r");
            }
            plugin.status = status.build();
            Health health = channel.status(socket(), LONG);
            assertEquals(Verdict.HEALTHY, health.verdict());
            assertEquals(7, health.code());
            assertEquals(StatusMarshaller.MOST_RESULTS + 1, health.results().size());
            assertEquals("(999900 more results were left out)", health.results().getLast());

            plugin.status = Status.newBuilder()
                    .addAllResults(Collections.nCopies(100, "x".repeat(10_000)))
                    .build();
            int characters = channel.status(socket(), LONG).results().stream()
                    .mapToInt(String::length)
                    .sum();
            assertTrue(characters < StatusMarshaller.MOST_CHARACTERS + 2 * StatusMarshaller.LONGEST);
        }
    }

    @Test
    void whatAPluginSaysOfItselfIsCutBetweenCharacters() throws Exception {
        String begun = "x".repeat(StatusMarshaller.LONGEST - 4);
        try (PluginServer plugin = PluginServer.on(socket())) {
            plugin.status = Status.newBuilder()
                    .addResults(begun + "\ud83d\ude00".repeat(3))
                    .build();

            assertEquals(List.of(begun + "..."), channel.status(socket(), LONG).results());
        }
    }

    @Test
    void startTellsTheStateDirectoryAndTheConfiguration() throws Exception {
        ObjectNode struct = (ObjectNode) new ObjectMapper()
                .readTree("{\"s\":\"x\",\"n\":1.5,\"i\":3,\"b\":true,\"z\":null,\"l\":[1,{\"m\":\"y\"}],\"o\":{}}");
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(new PluginReply.Done(), channel.start(socket(), root, null, LONG));
            assertEquals(new PluginReply.Done(), channel.start(socket(), root, new Config("text", null), LONG));
            assertEquals(new PluginReply.Done(), channel.start(socket(), root, new Config(null, struct), LONG));

            StartRequest bare = StartRequest.newBuilder()
                    .setConfig(StartRequest.Config.newBuilder().setStateDirectoryPath(root.toString()))
                    .build();
            assertEquals(bare, plugin.requests.get(0));
            assertEquals(bare.toBuilder().setStringConfig("text").build(), plugin.requests.get(1));
            StartRequest structured = (StartRequest) plugin.requests.get(2);
            assertTrue(structured.hasStructConfig());
            Struct fields = structured.getStructConfig();
            assertEquals("x", fields.getFieldsOrThrow("s").getStringValue());
            assertEquals(1.5, fields.getFieldsOrThrow("n").getNumberValue());
            assertEquals(3.0, fields.getFieldsOrThrow("i").getNumberValue());
            assertTrue(fields.getFieldsOrThrow("b").getBoolValue());
            assertTrue(fields.getFieldsOrThrow("z").hasNullValue());
            assertEquals(
                    1.0,
                    fields.getFieldsOrThrow("l").getListValue().getValues(0).getNumberValue());
            assertEquals(
                    "y",
                    fields.getFieldsOrThrow("l")
                            .getListValue()
                            .getValues(1)
                            .getStructValue()
                            .getFieldsOrThrow("m")
                            .getStringValue());
            assertTrue(fields.getFieldsOrThrow("o").hasStructValue());
            assertEquals(7, fields.getFieldsCount());
        }
    }

    @Test
    void anApplyThatAPluginDoesNotKnowIsToldFromOneThatItRefuses() throws Exception {
        Config config = new Config("new", null);
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(new PluginReply.Done(), channel.apply(socket(), config, LONG));
            assertEquals(ApplyRequest.newBuilder().setStringConfig("new").build(), Iterables.getLast(plugin.requests));

            plugin.failing(Code.UNIMPLEMENTED, "no");
            assertEquals(new PluginReply.Unimplemented(), channel.apply(socket(), config, LONG));

            plugin.failing(Code.INVALID_ARGUMENT, "no such key");
            assertEquals(
                    new PluginReply.Refused(3, "Apply failed with INVALID_ARGUMENT: no such key"),
                    channel.apply(socket(), config, LONG));

            plugin.silent();
            String words = assertInstanceOf(PluginReply.TimedOut.class, channel.apply(socket(), config, SHORT))
                    .problem();
            assertTrue(words.startsWith("Apply ") && words.endsWith(" 200 ms"), words);
        }
        assertInstanceOf(PluginReply.Unreachable.class, channel.apply(socket(), config, LONG));
    }

    @Test
    void aPluginThatDiesInTheMiddleOfACallIsUnreachable() throws Exception {
        PluginServer plugin = PluginServer.on(socket()).silent();
        FutureTask<PluginReply> call = new FutureTask<>(() -> channel.start(socket(), root, null, LONG));
        Thread.ofVirtual().start(call);
        await().atMost(LONG).until(() -> plugin.requests.size() == 1);
        plugin.close();

        assertInstanceOf(PluginReply.Unreachable.class, call.get());
    }

    @Test
    void stopTellsTheDeadlineToTheNanosecond() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(new PluginReply.Done(), channel.stop(socket(), true, Duration.ofMillis(30_250)));
            assertEquals(new PluginReply.Done(), channel.stop(socket(), false, Duration.ofMillis(1500)));

            StopRequest removal = (StopRequest) plugin.requests.get(0);
            assertTrue(removal.getCleanup());
            assertEquals(30, removal.getDeadline().getSeconds());
            assertEquals(250_000_000, removal.getDeadline().getNanos());
            assertFalse(((StopRequest) plugin.requests.get(1)).getCleanup());
        }
    }

    @Test
    void anInterruptedCallIsGivenUp() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket()).silent()) {
            FutureTask<PluginReply> call = new FutureTask<>(() -> channel.start(socket(), root, null, LONG));
            Thread caller = Thread.ofVirtual().start(call);
            await().atMost(LONG).until(() -> plugin.requests.size() == 1);
            caller.interrupt();

            var e = assertThrows(ExecutionException.class, call::get);
            assertInstanceOf(InterruptedException.class, e.getCause());
        }
    }

    @Test
    void whetherSomebodyListensIsSeenWithoutSayingAnything() throws Exception {
        assertEquals(Observation.seen(false), channel.listening(socket()));
        Files.writeString(socket(), "no socket");
        assertEquals(Observation.seen(false), channel.listening(socket()));
        Files.delete(socket());
        try (ServerSocketChannel server = listen(socket())) {
            assertEquals(Observation.seen(true), channel.listening(socket()));
            try (SocketChannel peer = server.accept()) {
                assertEquals(-1, peer.read(ByteBuffer.allocate(10)));
            }
        }
        assertEquals(Observation.seen(false), channel.listening(socket()));
    }

    @Test
    void aPluginThatAcceptsNothingListensHoweverManyWait() throws Exception {
        List<SocketChannel> waiting = new ArrayList<>();
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(socket()), 1);
            assertThrows(SocketException.class, () -> {
                while (true) {
                    SocketChannel peer = SocketChannel.open(StandardProtocolFamily.UNIX);
                    waiting.add(peer);
                    peer.configureBlocking(false);
                    peer.connect(UnixDomainSocketAddress.of(socket()));
                }
            });

            assertEquals(Observation.seen(true), channel.listening(socket()));
        } finally {
            for (SocketChannel peer : waiting) {
                peer.close();
            }
        }
    }

    @Test
    void aCallLeavesNothingInTheLog() throws Exception {
        List<String> warnings = new CopyOnWriteArrayList<>();
        Handler listener = new Handler() {
            @Override
            public void publish(LogRecord line) {
                warnings.add(line.getLevel() + " " + line.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        // Without another provider, which this module has none of, netty and gRPC log here.
        Logger everything = Logger.getLogger("");
        everything.addHandler(listener);
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(Verdict.HEALTHY, channel.status(socket(), LONG).verdict());
            assertEquals(1, plugin.requests.size());
        } finally {
            everything.removeHandler(listener);
        }
        assertEquals(List.of(), warnings);
    }

    @Test
    void aClosedChannelLeavesNoThread() throws Exception {
        // Those of the tests before take a moment to end.
        await().atMost(LONG).until(() -> loops() == 0);
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(Verdict.HEALTHY, channel.status(socket(), LONG).verdict());
            assertEquals(1, plugin.requests.size());
            assertEquals(1, loops());
            channel.close();
            await().atMost(LONG).until(() -> loops() == 0);
        }
    }
}
