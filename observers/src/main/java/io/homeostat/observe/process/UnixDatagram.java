package io.homeostat.observe.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Sends a message to a unix(7) datagram socket, for which Java has no class. */
public final class UnixDatagram {
    /** The path's share of sockaddr_un; the other two bytes are the family. */
    private static final int LONGEST_PATH = 108;

    private UnixDatagram() {}

    /**
     * Sends without waiting for a busy receiver.
     *
     * @param socket an absolute path, or '@' and a name in the abstract namespace
     * @throws IOException when nobody listens there, or the receiver's queue is full
     */
    public static void send(String socket, String message) throws IOException {
        if (!socket.startsWith("/") && !socket.startsWith("@")) {
            throw new IOException(socket + " is neither an absolute path nor '@' and a name");
        }
        byte[] name = socket.getBytes(StandardCharsets.UTF_8);
        if (socket.length() == 1 || name.length >= LONGEST_PATH) {
            throw new IOException(
                    socket + " has " + name.length + " bytes; a socket's name has 2 to " + (LONGEST_PATH - 1));
        }
        if (socket.startsWith("@")) {
            name[0] = 0;
        }
        int descriptor = Libc.datagramSocket();
        if (descriptor < 0) {
            throw new IOException("no socket could be opened: errno " + -descriptor);
        }
        try {
            int sent = Libc.sendTo(descriptor, name, message.getBytes(StandardCharsets.UTF_8));
            if (sent < 0) {
                throw new IOException("sending to " + socket + " failed with errno " + -sent);
            }
        } finally {
            Libc.close(descriptor);
        }
    }
}
