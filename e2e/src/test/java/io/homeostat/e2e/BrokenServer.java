package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

/**
 * An HTTP server for one file that fails in the middle of a body, which no real server can be made to do. Understands Range with
 * If-Range, so that it can be seen whether a download goes on where it stopped.
 */
final class BrokenServer implements AutoCloseable {
    /** How a connection ends. */
    enum End {
        /** All is sent. */
        WHOLE,
        /** A reset after half of what was asked for. */
        RESET,
        /** An orderly end after half of what was asked for, less than Content-Length said. */
        TRUNCATED,
        /** None: half of what was asked for, and then nothing until the other side goes away. */
        NEVER
    }

    /**
     * What was asked for, and what it got.
     *
     * @param range as it came; empty without one
     * @param sent bytes of the body
     */
    record Served(String range, long sent) {}

    private final byte[] content;
    private final List<End> ends;
    private final String tag;
    private final ServerSocket socket;
    private final List<Served> served = new CopyOnWriteArrayList<>();
    private volatile boolean changed;

    /** @param ends of the first, second, ... connection; all further ones are whole */
    BrokenServer(byte[] content, End... ends) {
        this.content = content;
        this.ends = List.of(ends);
        this.tag = "\"" + Hashes.sha256(content).substring(0, 16) + "\"";
        try {
            this.socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofVirtual().start(this::serve);
    }

    String url(String name) {
        return "http://127.0.0.1:" + socket.getLocalPort() + "/" + name;
    }

    /** From now on the file has another ETag, as if it had been published anew. */
    void republish() {
        changed = true;
    }

    List<Served> served() {
        return List.copyOf(served);
    }

    long bytesSent() {
        return served.stream().mapToLong(Served::sent).sum();
    }

    private void serve() {
        while (!socket.isClosed()) {
            try {
                Socket connection = socket.accept();
                Thread.ofVirtual().start(() -> answer(connection));
            } catch (IOException e) {
                // Closed: the test is over.
                return;
            }
        }
    }

    private void answer(Socket connection) {
        try (connection) {
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(connection.getInputStream(), StandardCharsets.US_ASCII));
            String range = "";
            String condition = "";
            for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
                if (line.regionMatches(true, 0, "Range: ", 0, 7)) {
                    range = line.substring(7);
                } else if (line.regionMatches(true, 0, "If-Range: ", 0, 10)) {
                    condition = line.substring(10);
                }
            }
            respond(connection, range, condition);
        } catch (IOException e) {
            // The other side went away, as some tests want it to.
        }
    }

    private void respond(Socket connection, String range, String condition) throws IOException {
        String etag = changed ? "\"another\"" : tag;
        boolean part = range.startsWith("bytes=") && condition.equals(etag);
        int from = part ? Integer.parseInt(range.substring(6, range.length() - 1)) : 0;
        int length = content.length - from;
        End end = served.size() < ends.size() ? ends.get(served.size()) : End.WHOLE;
        int sent = end == End.WHOLE ? length : length / 2;
        served.add(new Served(range, sent));
        OutputStream out = connection.getOutputStream();
        out.write(("HTTP/1.1 " + (part ? "206 Partial Content" : "200 OK")
                        + "\r\nContent-Type: application/gzip\r\nETag: "
                        + etag + "\r\nAccept-Ranges: bytes\r\nConnection: close\r\nContent-Length: " + length + "\r\n"
                        + (part
                                ? "Content-Range: bytes " + from + "-" + (content.length - 1) + "/" + content.length
                                        + "\r\n"
                                : "")
                        + "\r\n")
                .getBytes(StandardCharsets.US_ASCII));
        out.write(content, from, sent);
        out.flush();
        if (end == End.NEVER) {
            while (connection.getInputStream().read() >= 0) {
                // Whatever it says, it gets no more.
            }
        }
        if (end == End.RESET) {
            awaitRead(connection);
            connection.setSoLinger(true, 0);
        }
    }

    /** A reset makes worthless what the other side has not yet read; both ends of a connection on loopback tell how much that is. */
    private static void awaitRead(Socket connection) {
        String ours = String.format(":%04X", connection.getLocalPort());
        String theirs = String.format(":%04X", connection.getPort());
        eventually()
                .until(() -> Stream.of("/proc/net/tcp", "/proc/net/tcp6")
                        .flatMap(BrokenServer::lines)
                        // proc_net(5): number, local address, remote address, state, bytes to send and to read.
                        .map(line -> line.strip().split("\\s+", -1))
                        .filter(words -> (words[1].endsWith(ours) && words[2].endsWith(theirs))
                                || (words[1].endsWith(theirs) && words[2].endsWith(ours)))
                        .allMatch(words -> words[4].equals("00000000:00000000")));
    }

    private static Stream<String> lines(String file) {
        try {
            return Files.readAllLines(Path.of(file)).stream();
        } catch (NoSuchFileException e) {
            return Stream.empty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
