package io.homeostat.observe.health;

import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** A channel to a plugin, and a place for the socket of one. */
abstract class PluginChannelTestBed {
    static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    static final Duration LONG = Duration.ofSeconds(30);
    static final Duration SHORT = Duration.ofMillis(200);

    @TempDir
    Path root;

    final AtomicLong nanos = new AtomicLong();
    final PluginChannel channel = new PluginChannel(() -> NOW, nanos::get);

    @AfterEach
    void tearDown() {
        channel.close();
    }

    Path socket() {
        return root.resolve("p.sock");
    }

    static long loops() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread ->
                        thread.getName().startsWith("grpc-") && thread.getName().matches("grpc-\\d+-\\d+"))
                .count();
    }

    static ServerSocketChannel listen(Path socket) throws Exception {
        Files.deleteIfExists(socket);
        return ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(UnixDomainSocketAddress.of(socket));
    }
}
