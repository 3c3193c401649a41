package io.homeostat.guest;

import java.io.BufferedWriter;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The monitor of a machine with hybrid vsock: whoever connects asks for a port of the guest first. At 1024 its agent listens, at 1025 it tells
 * what it logs; where nobody listens the connection is closed.
 */
public final class FakeMonitor implements AutoCloseable {
    private final Path agent;
    private final ServerSocketChannel listener;
    private final List<SocketChannel> connections = new CopyOnWriteArrayList<>();
    private final BlockingQueue<String> log = new LinkedBlockingQueue<>();

    /**
     * Listens.
     *
     * @param agent where the agent of the guest really listens
     */
    public FakeMonitor(Path socket, Path agent) throws IOException {
        this.agent = agent;
        listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        listener.bind(UnixDomainSocketAddress.of(socket));
        Thread _ = Thread.ofVirtual().start(this::accept);
    }

    /** The agent logs a line, which is told to who listens, now or later. */
    public void log(String line) {
        log.add(line);
    }

    private void accept() {
        try {
            while (true) {
                SocketChannel client = listener.accept();
                connections.add(client);
                Thread _ = Thread.ofVirtual().start(() -> serve(client));
            }
        } catch (AsynchronousCloseException e) {
            // Closed by us.
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void serve(SocketChannel client) {
        try (client) {
            switch (line(client)) {
                case "CONNECT 1024" -> forward(client);
                case "CONNECT 1025" -> tell(client);
                default -> {}
            }
        } catch (IOException e) {
            // As when a machine ends.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String line(SocketChannel client) throws IOException {
        StringBuilder line = new StringBuilder();
        ByteBuffer one = ByteBuffer.allocate(1);
        while (client.read(one.clear()) > 0 && one.get(0) != '\n') {
            line.append((char) one.get(0));
        }
        return line.toString();
    }

    private static void accepted(SocketChannel client, int port) throws IOException {
        int _ = client.write(ByteBuffer.wrap(("OK " + port + "\n").getBytes(StandardCharsets.US_ASCII)));
    }

    private void forward(SocketChannel client) throws IOException, InterruptedException {
        try (SocketChannel to = SocketChannel.open(UnixDomainSocketAddress.of(agent))) {
            connections.add(to);
            accepted(client, 1024);
            Thread back = Thread.ofVirtual().start(() -> copy(to, client));
            copy(client, to);
            back.join();
        }
    }

    /** Until one of them ends, which ends the other. */
    private static void copy(SocketChannel from, SocketChannel to) {
        try (from;
                to) {
            ByteBuffer buffer = ByteBuffer.allocate(64 << 10);
            while (from.read(buffer.clear()) >= 0) {
                buffer.flip();
                while (buffer.hasRemaining()) {
                    int _ = to.write(buffer);
                }
            }
        } catch (IOException e) {
            // The other side is closed, too.
        }
    }

    private void tell(SocketChannel client) throws IOException, InterruptedException {
        accepted(client, 1025);
        BufferedWriter out = new BufferedWriter(Channels.newWriter(client, StandardCharsets.UTF_8));
        while (client.isOpen()) {
            out.write(log.take() + "\n");
            out.flush();
        }
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (SocketChannel connection : connections) {
            connection.close();
        }
    }
}
