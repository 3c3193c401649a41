package io.homeostat.actuate.fetch;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CopyOnWriteArrayList;

/** Answers each connection with the next of its answers, byte by byte as the test wants it, and remembers what was asked. */
public final class RawServer implements AutoCloseable {
    private final ServerSocket server;
    private final Queue<Dialogue> answers;
    private final List<String> requests = new CopyOnWriteArrayList<>();

    /** Writes a whole answer; the connection is closed, or reset when it throws, after it. */
    public interface Answer {
        void write(OutputStream out) throws IOException, InterruptedException;
    }

    /** Writes an answer that depends on the head of the request. */
    public interface Dialogue {
        void write(OutputStream out, String request) throws IOException, InterruptedException;
    }

    public RawServer(Answer... answers) throws IOException {
        this(Arrays.stream(answers)
                .map(answer -> (Dialogue) (out, _) -> answer.write(out))
                .toList());
    }

    /** A server that gives the same kind of answer always. */
    public RawServer(Dialogue dialogue) throws IOException {
        this(List.of(dialogue));
    }

    private RawServer(List<Dialogue> answers) throws IOException {
        this.answers = new ArrayDeque<>(answers);
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::serve);
    }

    public String url() {
        return "http://127.0.0.1:" + server.getLocalPort() + "/archive?signature=sesame";
    }

    /** The heads of the requests so far. */
    public List<String> requests() {
        return requests;
    }

    private void serve() {
        while (true) {
            try (Socket socket = server.accept()) {
                BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII));
                StringBuilder head = new StringBuilder();
                for (String line; (line = in.readLine()) != null && !line.isEmpty(); ) {
                    head.append(line).append('\n');
                }
                requests.add(head.toString());
                Dialogue answer = answers.size() > 1 ? answers.remove() : answers.element();
                try {
                    answer.write(socket.getOutputStream(), head.toString());
                } catch (Reset e) {
                    // Zero seconds of patience make it a RST instead of a FIN.
                    socket.setSoLinger(true, 0);
                }
            } catch (SocketException e) {
                if (server.isClosed()) {
                    return;
                }
            } catch (IOException | InterruptedException e) {
                return;
            }
        }
    }

    /** Ends a connection the hard way. */
    static final class Reset extends IOException {
        private static final long serialVersionUID = 1L;
    }

    static Answer whole(String headers, byte[] body) {
        return out -> {
            out.write(("HTTP/1.1 200 OK\r\nContent-Length: " + body.length + "\r\n" + headers + "\r\n")
                    .getBytes(US_ASCII));
            out.write(body);
        };
    }

    /** The beginning of an answer, then the connection breaks. */
    static Answer broken(String headers, byte[] body, int count) {
        return out -> {
            out.write(("HTTP/1.1 200 OK\r\nContent-Length: " + body.length + "\r\n" + headers + "\r\n")
                    .getBytes(US_ASCII));
            out.write(body, 0, count);
            out.flush();
        };
    }

    static Answer rest(String headers, byte[] body, int from, String contentRange) {
        return out -> {
            out.write(("HTTP/1.1 206 Partial Content\r\nContent-Length: " + (body.length - from) + "\r\nContent-Range: "
                            + contentRange + "\r\n" + headers + "\r\n")
                    .getBytes(US_ASCII));
            out.write(body, from, body.length - from);
        };
    }

    public static Answer chunked(byte[] body, int chunk, boolean ended) {
        return out -> {
            out.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".getBytes(US_ASCII));
            for (int at = 0; at < body.length; at += chunk) {
                int count = Math.min(chunk, body.length - at);
                out.write((Integer.toHexString(count) + "\r\n").getBytes(US_ASCII));
                out.write(body, at, count);
                out.write("\r\n".getBytes(US_ASCII));
            }
            if (ended) {
                out.write("0\r\n\r\n".getBytes(US_ASCII));
            }
        };
    }

    static Answer status(String status) {
        return out -> out.write(("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\n").getBytes(US_ASCII));
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
