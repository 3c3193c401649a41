package io.homeostat.desired.platform;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.buffer.UnpooledHeapByteBuf;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory that gRPC uses for messages which are incomplete, or complete and not read, of some connections. HTTP/2 bounds only the
 * latter, and neither counts what the pieces of a message cost. Thread-safe.
 *
 * <p>A frame is a slice of the buffer that was read from the socket, and keeps all of it alive: a frame of one byte may cost 128 KiB of
 * direct memory, which all connections share. So gRPC gets a copy of each frame, which costs what is counted until it is released.
 */
final class KeptMessages {
    /** Bytes for one connection: a message of etcd has up to 16 MiB. */
    static final long MOST_OF_ONE = 24 << 20;

    /** Bytes for all connections together, a fraction of the agent's heap of 256 MiB. */
    static final long MOST = 48 << 20;

    /** Bytes for which no connection is closed because of others. */
    static final long FREE = 1 << 20;

    /** The reason for which a connection is closed. */
    static final String TOO_MUCH = "messages that were incomplete or not read took too much memory";

    /** Bytes that a copy costs beside its content, with what gRPC makes of it, about. */
    static final int PIECE = 192;

    private final AtomicLong bytes = new AtomicLong();
    private final Set<OfConnection> open = ConcurrentHashMap.newKeySet();

    OfConnection ofConnection() {
        return new OfConnection();
    }

    /** Bytes that are kept for all connections, also for those that were closed. */
    long bytes() {
        return bytes.get();
    }

    /** The part of one connection. */
    final class OfConnection {
        private final AtomicLong own = new AtomicLong();
        private volatile Runnable close = () -> {};

        private OfConnection() {}

        /**
         * Adds the connection to those that are open.
         *
         * @param closing closes the connection, called by any thread when it keeps more than the others and all of them too much
         */
        void open(Runnable closing) {
            close = closing;
            open.add(this);
        }

        /** The connection receives nothing more. What is kept stays counted until it is released. */
        void closed() {
            open.remove(this);
        }

        /** A copy of the content, counted until it is released. */
        ByteBuf copy(ByteBuf data) {
            int size = data.readableBytes();
            ByteBuf copy = new Copy(size);
            copy.writeBytes(data, data.readerIndex(), size);
            return copy;
        }

        /** Whether this connection keeps too much. When all of them do, the one that keeps most is closed. */
        boolean isTooMuch() {
            if (bytes.get() > MOST) {
                open.stream()
                        .filter(each -> each.own.get() > FREE)
                        .max(Comparator.comparingLong(each -> each.own.get()))
                        .ifPresent(each -> each.close.run());
            }
            return own.get() > MOST_OF_ONE;
        }

        private void add(long change) {
            own.addAndGet(change);
            bytes.addAndGet(change);
        }

        private final class Copy extends UnpooledHeapByteBuf {
            private final int cost;

            Copy(int size) {
                super(UnpooledByteBufAllocator.DEFAULT, size, size);
                cost = PIECE + size;
                add(cost);
            }

            @Override
            protected void deallocate() {
                super.deallocate();
                add(-cost);
            }
        }
    }
}
