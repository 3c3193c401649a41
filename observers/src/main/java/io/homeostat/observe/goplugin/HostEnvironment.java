package io.homeostat.observe.goplugin;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import java.nio.file.Path;
import java.util.stream.Collectors;

/**
 * What a host says to a plugin by its environment.
 *
 * @param cookieName of the variable without which the plugin refuses to run
 * @param versions of the protocol above go-plugin that the host speaks
 */
public record HostEnvironment(String cookieName, String cookieValue, ImmutableSortedSet<Integer> versions) {
    /**
     * With these a host asks for TLS, for one connection instead of several, and for sockets of another group. We ask for none of them,
     * and a plugin must not find them by accident.
     */
    public static final ImmutableSet<String> WITHHELD =
            ImmutableSet.of("PLUGIN_CLIENT_CERT", "PLUGIN_MULTIPLEX_GRPC", "PLUGIN_UNIX_SOCKET_GROUP");

    /** The ports on which a plugin may listen that can't use a unix socket. */
    private static final int MIN_PORT = 10_000;

    private static final int MAX_PORT = 25_000;

    /** The variables, for a plugin that is to make its sockets in a directory. Older plugins only know TMPDIR. */
    public ImmutableMap<String, String> variables(Path sockets) {
        return ImmutableMap.<String, String>builder()
                .put(cookieName, cookieValue)
                .put(
                        "PLUGIN_PROTOCOL_VERSIONS",
                        versions.stream().map(String::valueOf).collect(Collectors.joining(",")))
                .put("PLUGIN_MIN_PORT", Integer.toString(MIN_PORT))
                .put("PLUGIN_MAX_PORT", Integer.toString(MAX_PORT))
                .put("PLUGIN_UNIX_SOCKET_DIR", sockets.toString())
                .put("TMPDIR", sockets.toString())
                .buildOrThrow();
    }
}
