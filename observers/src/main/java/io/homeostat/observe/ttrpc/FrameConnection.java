package io.homeostat.observe.ttrpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.homeostat.observe.process.WakeableThread;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frames over a connection, in both directions at once. Reading never waits for what is written, nor sending for the peer to read: what there
 * is no room for waits in a queue, which is bounded by whoever sends, and a thread goes on with it.
 */
final class FrameConnection implements AutoCloseable {
    /** Hears of what arrives, in the thread that reads: it must not block. */
    interface Receiver {
        /**
         * A frame has arrived.
         *
         * @throws IOException why the connection is not kept
         */
        void received(Frame frame) throws IOException;

        /** A frame was longer than is allowed; it was skipped. */
        void tooLong(int stream, int length) throws IOException;

        /** So much was sent that more may be, after {@link #isCrowded} was true. */
        void drained();

        /** The last that is heard, once. */
        void ended(IOException reason);
    }

    /** A frame that waits to be sent, or was sent. */
    final class Outgoing {
        private final AtomicReference<@Nullable Frame> frame;

        private Outgoing(Frame frame) {
            this.frame = new AtomicReference<>(frame);
        }

        /** Whether it is sent, or never will be. */
        boolean isOver() {
            return frame.get() == null;
        }

        /** Nobody needs it any more. Once it is being sent, all of it is. */
        void drop() {
            Frame dropped = frame.getAndSet(null);
            if (dropped != null) {
                sent(size(dropped));
            }
        }
    }

    private static final Logger LOG = LoggerFactory.getLogger(FrameConnection.class);

    private static final int BUFFER = 64 << 10;

    /** Bytes that wait to be sent. */
    private static final long CROWDED = 256 << 10;

    /** A length with anything in its first byte is no length of ttRPC, and what follows it is no frame. */
    private static final int ABSURD = 1 << 24;

    /** Frames that a caller sends for others as well, before the writer goes on with it. */
    private static final int FAVOUR = 64;

    /** The time that the threads have to end once the connection is closed. */
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private final Wire wire;
    private final Receiver receiver;
    private final Queue<Outgoing> queue = new ConcurrentLinkedQueue<>();
    private final AtomicLong waiting = new AtomicLong();
    private final AtomicBoolean crowded = new AtomicBoolean();
    private final AtomicReference<@Nullable IOException> broken = new AtomicReference<>();
    private final WakeableThread reader;
    private final WakeableThread writer;

    /** Held by whoever writes, who has what is below. */
    private final ReentrantLock writing = new ReentrantLock();

    /** What comes next. The JDK copies what isn't direct. */
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
    /** The rest of what did not fit into it. */
    private ByteBuffer payload = ByteBuffer.allocate(0);

    /** Whether the writer has to go on: there was no room, too much, or an error. */
    private final Semaphore left = new Semaphore(0);

    /** Set while the writer waits for room, so that nobody else tries. */
    private volatile boolean stuck;

    private volatile @Nullable IOException failure;

    /**
     * @param wire closed with this
     * @param name of its threads
     */
    FrameConnection(Wire wire, String name, Receiver receiver) {
        this.wire = wire;
        this.receiver = receiver;
        this.reader = new WakeableThread(name + " reader", this::read);
        this.writer = new WakeableThread(name + " writer", this::write);
    }

    void start() {
        reader.start();
        writer.start();
        if (!isOpen()) {
            // It ended before the writer could be told.
            writer.interrupt();
        }
    }

    boolean isOpen() {
        return broken.get() == null;
    }

    /** Whether so much waits to be sent that whoever can should wait. */
    boolean isCrowded() {
        boolean result = waiting.get() >= CROWDED;
        if (result) {
            crowded.set(true);
        }
        return result;
    }

    /** Bytes that wait to be sent. */
    long backlog() {
        return waiting.get();
    }

    /** Sends a frame after all that were put in before it. Never waits. */
    Outgoing send(Frame frame) {
        Outgoing result = put(frame);
        flush();
        return result;
    }

    /** Puts a frame where the next {@link #flush} finds it, also another thread's. */
    Outgoing put(Frame frame) {
        Outgoing result = new Outgoing(frame);
        waiting.addAndGet(size(frame));
        queue.add(result);
        return result;
    }

    /** Sends what there is room for now; the rest follows by itself. In the thread that calls, which saves waking another. */
    void flush() {
        // Whoever holds the lock may have looked at the queue before we put something in; if we do, we go on with it.
        while (!writing.isHeldByCurrentThread() && !queue.isEmpty() && !stuck && writing.tryLock()) {
            try {
                if (!drain(FAVOUR)) {
                    stuck = true;
                    left.release();
                }
            } catch (IOException e) {
                // Told by the writer: here, somebody may hold what is needed for that.
                broken(e);
            } finally {
                writing.unlock();
            }
        }
    }

    private void broken(IOException e) {
        failure = e;
        stuck = true;
        left.release();
    }

    private void failIfBroken() throws IOException {
        IOException known = failure;
        if (known != null) {
            throw known;
        }
    }

    private static long size(Frame frame) {
        return Frame.OVERHEAD + (long) frame.payload().size();
    }

    private void write() {
        try {
            while (true) {
                left.acquire();
                failIfBroken();
                while (stuck) {
                    wire.awaitRoom();
                    writing.lock();
                    try {
                        stuck = !drain(Integer.MAX_VALUE);
                    } finally {
                        writing.unlock();
                    }
                }
                flush();
            }
        } catch (IOException e) {
            end(e);
        } catch (InterruptedException e) {
            end(new IOException("the connection was closed", e));
        } catch (RuntimeException | Error e) {
            // Without its thread a connection would be kept, and all that waits for it.
            LOG.error("{} failed", Thread.currentThread().getName(), e);
            end(new IOException("writing failed: " + e, e));
        }
    }

    /** Writes until nothing is left, there is no room, or it is enough; false when the writer has to go on. */
    private boolean drain(int most) throws IOException {
        int begun = 0;
        while (true) {
            begun += fill(most - begun);
            if (buffer.position() == 0) {
                return queue.isEmpty();
            }
            buffer.flip();
            int _ = wire.write(buffer);
            boolean written = !buffer.hasRemaining();
            buffer.compact();
            if (!written) {
                return false;
            }
        }
    }

    /** Puts into the buffer what there is and fits; returns how many frames were begun. */
    private int fill(int most) {
        int begun = 0;
        while (true) {
            int length = Math.min(buffer.remaining(), payload.remaining());
            buffer.put(payload.slice(payload.position(), length));
            payload.position(payload.position() + length);
            if (payload.hasRemaining() || buffer.remaining() < Frame.HEADER || begun >= most) {
                return begun;
            }
            Outgoing next = queue.poll();
            if (next == null) {
                return begun;
            }
            Frame frame = next.frame.getAndSet(null);
            if (frame != null) {
                begun++;
                buffer.putInt(frame.payload().size())
                        .putInt(frame.stream())
                        .put(frame.type())
                        .put(frame.flags());
                payload = frame.payload().asReadOnlyByteBuffer();
                sent(size(frame));
            }
        }
    }

    private void sent(long size) {
        if (waiting.addAndGet(-size) < CROWDED / 2 && crowded.compareAndSet(true, false)) {
            receiver.drained();
        }
    }

    private void read() {
        ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER).limit(0);
        try {
            while (true) {
                fill(buffer, Frame.HEADER);
                int length = buffer.getInt();
                int stream = buffer.getInt();
                byte type = buffer.get();
                byte flags = buffer.get();
                if (length < 0 || length >= ABSURD) {
                    throw new IOException("what arrives is not ttRPC: a frame of " + Integer.toUnsignedString(length)
                            + " bytes, of which " + Frame.LONGEST + " are allowed");
                }
                if (length > Frame.LONGEST) {
                    skip(buffer, length);
                    receiver.tooLong(stream, length);
                } else {
                    receiver.received(new Frame(stream, type, flags, payload(buffer, length)));
                }
            }
        } catch (IOException e) {
            end(e);
        } catch (RuntimeException | Error e) {
            LOG.error("{} failed", Thread.currentThread().getName(), e);
            end(new IOException("reading failed: " + e, e));
        }
    }

    /** Reads until there are at least so many bytes, which fit into the buffer. */
    private void fill(ByteBuffer buffer, int bytes) throws IOException {
        if (buffer.remaining() < bytes) {
            buffer.compact();
            while (buffer.position() < bytes) {
                read(buffer);
            }
            buffer.flip();
        }
    }

    private ByteString payload(ByteBuffer buffer, int length) throws IOException {
        ByteBuffer result = ByteBuffer.allocate(length);
        // By way of the direct buffer: some connections take no other.
        while (result.hasRemaining()) {
            fill(buffer, 1);
            int there = Math.min(result.remaining(), buffer.remaining());
            result.put(buffer.slice(buffer.position(), there));
            buffer.position(buffer.position() + there);
        }
        return UnsafeByteOperations.unsafeWrap(result.flip());
    }

    private void skip(ByteBuffer buffer, int length) throws IOException {
        int left = length;
        while (left > 0) {
            fill(buffer, 1);
            int skipped = Math.min(left, buffer.remaining());
            buffer.position(buffer.position() + skipped);
            left -= skipped;
        }
    }

    private void read(ByteBuffer into) throws IOException {
        if (wire.read(into) < 0) {
            throw new EOFException("the other side closed the connection");
        }
    }

    private void end(IOException reason) {
        if (broken.compareAndSet(null, reason)) {
            // First: who reads or writes may be held in the kernel, and closing waits for that.
            reader.wakeAfter(PATIENCE);
            writer.wakeAfter(PATIENCE);
            close(wire);
            writer.interrupt();
            receiver.ended(reason);
        }
    }

    /** Closes it after what there is room for. Another thread may be about to send the last of it. */
    void closeOnceSent() {
        writing.lock();
        try {
            boolean _ = drain(Integer.MAX_VALUE);
        } catch (IOException e) {
            end(e);
        } finally {
            writing.unlock();
        }
        close();
    }

    /** What has not been sent is not. */
    @Override
    public void close() {
        end(new IOException("the connection was closed"));
    }

    private static void close(Wire wire) {
        try {
            wire.close();
        } catch (IOException e) {
            LOG.debug("a connection could not be closed: {}", e.toString());
        }
    }
}
