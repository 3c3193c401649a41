package io.homeostat.reconcile.agent.metrics;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.util.Optional;

/** Reads {@code metrics.listen} of agent.yaml. */
final class Listen {
    private static final String UNIX = "unix:";

    private Listen() {}

    /**
     * @param listen {@code HOST:PORT}, {@code [IPv6]:PORT}, {@code unix:/PATH}, or empty
     * @return empty when nothing is to be listened on
     * @throws IllegalArgumentException when it is none of these
     */
    static Optional<SocketAddress> address(String listen) {
        if (listen.isEmpty()) {
            return Optional.empty();
        }
        if (listen.startsWith(UNIX)) {
            return Optional.of(UnixDomainSocketAddress.of(listen.substring(UNIX.length())));
        }
        int colon = listen.lastIndexOf(':');
        if (colon < 1) {
            throw new IllegalArgumentException("'" + listen + "' is neither HOST:PORT nor unix:/PATH");
        }
        String host = listen.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        return Optional.of(new InetSocketAddress(host, Integer.parseInt(listen.substring(colon + 1))));
    }
}
