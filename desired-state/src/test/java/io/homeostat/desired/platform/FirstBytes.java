package io.homeostat.desired.platform;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/** A server that prints the first three bytes of each connection, in brackets; needs nothing but the JDK, so that any user can run it. */
final class FirstBytes {
    private static final int LENGTH = 3;

    private FirstBytes() {}

    /** @param arguments the path of its socket */
    public static void main(String[] arguments) throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(arguments[0]));
            System.out.println("listening");
            while (true) {
                System.out.println("[" + of(server) + "]");
            }
        }
    }

    /** Of the next connection. */
    static String of(ServerSocketChannel server) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(LENGTH);
        try (SocketChannel connection = server.accept()) {
            int read = 0;
            while (read >= 0 && bytes.hasRemaining()) {
                read = connection.read(bytes);
            }
        }
        return StandardCharsets.US_ASCII.decode(bytes.flip()).toString();
    }
}
