package io.homeostat.actuate.launch;

import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;

/** Listens where a plugin is told to, and does no more; needs nothing but the JDK, so that any user can run it. */
final class SocketListener {
    private static final String ADDRESS = "--address=";

    private SocketListener() {}

    public static void main(String[] arguments) throws Exception {
        try (ServerSocketChannel channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            for (String argument : arguments) {
                if (argument.startsWith(ADDRESS)) {
                    channel.bind(UnixDomainSocketAddress.of(argument.substring(ADDRESS.length())));
                }
            }
            while (true) {
                channel.accept().close();
            }
        }
    }
}
