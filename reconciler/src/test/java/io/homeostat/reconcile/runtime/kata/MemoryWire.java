package io.homeostat.reconcile.runtime.kata;

import io.homeostat.observe.ttrpc.Wire;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** One end of a connection in memory. What is written to one end is read from the other. */
final class MemoryWire implements Wire {
    /** Bytes in one direction. */
    private static final class Pipe {
        private final Queue<ByteBuffer> pieces = new ArrayDeque<>();
        private boolean closed;

        synchronized int read(ByteBuffer into) throws IOException {
            try {
                while (pieces.isEmpty() && !closed) {
                    wait();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted while reading");
            }
            ByteBuffer next = pieces.peek();
            if (next == null) {
                return -1;
            }
            int length = Math.min(into.remaining(), next.remaining());
            into.put(next.slice(next.position(), length));
            next.position(next.position() + length);
            if (!next.hasRemaining()) {
                ByteBuffer _ = pieces.remove();
            }
            return length;
        }

        synchronized int write(ByteBuffer from) throws IOException {
            if (closed) {
                throw new IOException("the other side closed the connection");
            }
            int length = from.remaining();
            pieces.add(ByteBuffer.allocate(length).put(from).flip());
            notifyAll();
            return length;
        }

        synchronized void close() {
            closed = true;
            notifyAll();
        }
    }

    /** Both ends of a connection. */
    record Pair(MemoryWire client, MemoryWire server) {
        /** Closes the connection and waits until both sides have noticed. */
        void hangUp() {
            client.close();
            client.awaitReader();
            server.awaitReader();
        }
    }

    private final Pipe in;
    private final Pipe out;
    private volatile @Nullable Thread reader;

    private MemoryWire(Pipe in, Pipe out) {
        this.in = in;
        this.out = out;
    }

    static Pair pair() {
        Pipe requests = new Pipe();
        Pipe answers = new Pipe();
        return new Pair(new MemoryWire(answers, requests), new MemoryWire(requests, answers));
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        reader = Thread.currentThread();
        return in.read(into);
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        return out.write(from);
    }

    @Override
    public void awaitRoom() {
        // There always is.
    }

    @Override
    public void close() {
        in.close();
        out.close();
    }

    /** Waits until the thread that reads this end has ended, which it does once the connection is closed. */
    private void awaitReader() {
        Thread reads = reader;
        if (reads == null || reads.equals(Thread.currentThread())) {
            return;
        }
        try {
            reads.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
