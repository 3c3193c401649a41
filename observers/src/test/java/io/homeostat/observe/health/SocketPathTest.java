package io.homeostat.observe.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SocketPathTest {
    private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir
    Path root;

    @Test
    void aPluginIsReachedWhateverTheNameOfTheDirectoryItsSocketIsIn() throws Exception {
        assumeTrue(
                "UTF-8".equals(System.getProperty("sun.jnu.encoding")), "no names of files but ASCII in this locale");
        Path socket = root.resolve("rün #1 50%/p.sock");
        try (PluginServer plugin = PluginServer.on(socket);
                PluginChannel channel = new PluginChannel(() -> NOW)) {
            assertEquals(Health.healthy(NOW), channel.status(socket, LONG));
            assertEquals(1, plugin.requests.size());
        }
    }
}
