package io.homeostat.observe.ttrpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frames over a connection, in both directions at once. Reading never waits for what is written, nor sending for the peer to read: each has
 * a thread, and what is to be sent waits in a queue, which is bounded by whoever sends.
 */
final class FrameConnection implements AutoCloseable {
    /** Hears of what arrives, in the thread that reads: it must not block. */
    interface Receiver {
        void received(Frame frame);

        /** A frame was longer than is allowed; it was skipped. */
        void tooLong(int stream, int length);

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

    private final ByteChannel channel;
    private final Receiver receiver;
    private final BlockingQueue<Outgoing> queue = new LinkedBlockingQueue<>();
    private final AtomicLong waiting = new AtomicLong();
    private final AtomicBoolean crowded = new AtomicBoolean();
    private final AtomicReference<@Nullable IOException> broken = new AtomicReference<>();
    private final Thread reader;
    private final Thread writer;

    /**
     * @param channel closed with this
     * @param name of its threads
     */
    FrameConnection(ByteChannel channel, String name, Receiver receiver) {
        this.channel = channel;
        this.receiver = receiver;
        this.reader = Thread.ofPlatform().daemon().name(name + " reader").unstarted(this::read);
        this.writer = Thread.ofPlatform().daemon().name(name + " writer").unstarted(this::write);
    }

    void start() {
        reader.start();
        writer.start();
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

    Outgoing send(Frame frame) {
        Outgoing result = new Outgoing(frame);
        waiting.addAndGet(size(frame));
        queue.add(result);
        return result;
    }

    private static long size(Frame frame) {
        return Frame.HEADER + (long) frame.payload().size();
    }

    private void write() {
        // The JDK copies what isn't direct.
        ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
        try {
            while (true) {
                // Whoever waits for an answer sends no more, so there is an end to this.
                for (Outgoing next = queue.take(); next != null; next = queue.poll()) {
                    Frame frame = next.frame.getAndSet(null);
                    if (frame != null) {
                        put(frame, buffer);
                        sent(size(frame));
                    }
                }
                flush(buffer);
            }
        } catch (IOException e) {
            end(e);
        } catch (InterruptedException e) {
            end(new IOException("the connection was closed", e));
        } catch (RuntimeException e) {
            LOG.error("{} failed", Thread.currentThread().getName(), e);
            end(new IOException("writing failed: " + e, e));
        }
    }

    private void sent(long size) {
        if (waiting.addAndGet(-size) < CROWDED / 2 && crowded.compareAndSet(true, false)) {
            receiver.drained();
        }
    }

    private void put(Frame frame, ByteBuffer buffer) throws IOException {
        if (buffer.remaining() < Frame.HEADER) {
            flush(buffer);
        }
        buffer.putInt(frame.payload().size())
                .putInt(frame.stream())
                .put(frame.type())
                .put(frame.flags());
        ByteBuffer payload = frame.payload().asReadOnlyByteBuffer();
        while (payload.hasRemaining()) {
            if (!buffer.hasRemaining()) {
                flush(buffer);
            }
            int length = Math.min(buffer.remaining(), payload.remaining());
            buffer.put(payload.slice(payload.position(), length));
            payload.position(payload.position() + length);
        }
    }

    private void flush(ByteBuffer buffer) throws IOException {
        buffer.flip();
        while (buffer.hasRemaining()) {
            int _ = channel.write(buffer);
        }
        buffer.clear();
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
        } catch (RuntimeException e) {
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
        if (channel.read(into) < 0) {
            throw new EOFException("the other side closed the connection");
        }
    }

    private void end(IOException reason) {
        if (broken.compareAndSet(null, reason)) {
            close(channel);
            writer.interrupt();
            receiver.ended(reason);
        }
    }

    /** What has not been sent is not. */
    @Override
    public void close() {
        end(new IOException("the connection was closed"));
    }

    private static void close(ByteChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            LOG.debug("a connection could not be closed: {}", e.toString());
        }
    }
}
