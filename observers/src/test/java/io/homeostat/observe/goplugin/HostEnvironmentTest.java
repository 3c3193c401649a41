package io.homeostat.observe.goplugin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class HostEnvironmentTest {
    private static final HostEnvironment HOST = new HostEnvironment("COOKIE", "value", ImmutableSortedSet.of(10, 2));

    @Test
    void aPluginIsToldWhoCallsItAndWhereToListen() {
        assertEquals(
                ImmutableMap.builder()
                        .put("COOKIE", "value")
                        .put("PLUGIN_PROTOCOL_VERSIONS", "2,10")
                        .put("PLUGIN_MIN_PORT", "10000")
                        .put("PLUGIN_MAX_PORT", "25000")
                        .put("PLUGIN_UNIX_SOCKET_DIR", "/run/x")
                        .put("TMPDIR", "/run/x")
                        .buildOrThrow(),
                HOST.variables(Path.of("/run/x")));
    }

    @Test
    void nothingAsksForWhatIsNotSupported() {
        assertEquals(
                ImmutableSet.of("PLUGIN_CLIENT_CERT", "PLUGIN_MULTIPLEX_GRPC", "PLUGIN_UNIX_SOCKET_GROUP"),
                HostEnvironment.WITHHELD);
    }
}
