package io.homeostat.observe.ttrpc;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What two threads do to a connection at once. */
@Timeout(120)
class FrameConnectionTest {
    private static final int LATER = 500;

    /** Its first write lasts until it is let go on. */
    private static final class SlowWire implements Wire {
        final CountDownLatch writing = new CountDownLatch(1);
        final CountDownLatch goOn = new CountDownLatch(1);
        private final ByteArrayOutputStream written = new ByteArrayOutputStream();
        private volatile boolean closed;

        @Override
        public int read(ByteBuffer into) {
            return -1;
        }

        @Override
        public synchronized int write(ByteBuffer from) throws IOException {
            writing.countDown();
            try {
                goOn.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            if (closed) {
                throw new ClosedChannelException();
            }
            byte[] bytes = new byte[from.remaining()];
            from.get(bytes);
            written.writeBytes(bytes);
            return bytes.length;
        }

        @Override
        public void awaitRoom() {}

        @Override
        public void close() {
            closed = true;
        }
    }

    private static class Deaf implements FrameConnection.Receiver {
        @Override
        public void received(Frame frame) {}

        @Override
        public void tooLong(int stream, int length) {}

        @Override
        public void drained() {}

        @Override
        public void ended(IOException reason) {}
    }

    private static Frame frame(String payload) {
        return Frame.data(1, ByteString.copyFromUtf8(payload));
    }

    @Test
    void aConnectionEndsWhenThereIsNoMemoryForWhatArrives() {
        Wire wire = new Wire() {
            @Override
            public int read(ByteBuffer into) {
                throw new OutOfMemoryError("none is left");
            }

            @Override
            public int write(ByteBuffer from) {
                return 0;
            }

            @Override
            public void awaitRoom() {}

            @Override
            public void close() {}
        };
        CompletableFuture<IOException> ended = new CompletableFuture<>();
        FrameConnection connection = new FrameConnection(wire, "test", new Deaf() {
            @Override
            public void ended(IOException reason) {
                ended.complete(reason);
            }
        });

        connection.start();

        assertTrue(String.valueOf(ended.join().getMessage()).contains("none is left"));
        assertFalse(connection.isOpen());
    }

    @Test
    void whatOneThreadSendsWhileAnotherWritesIsSentBeforeItIsClosed() throws Exception {
        SlowWire wire = new SlowWire();
        FrameConnection connection = new FrameConnection(wire, "test", new Deaf());
        Thread first = Thread.ofPlatform().start(() -> connection.send(frame("first")));
        wire.writing.await();
        // More than one thread sends for others.
        for (int i = 0; i < LATER; i++) {
            connection.send(frame("later"));
        }

        Thread closing = Thread.ofPlatform().start(connection::closeOnceSent);
        await().until(() ->
                Set.of(Thread.State.WAITING, Thread.State.TERMINATED).contains(closing.getState()));
        wire.goOn.countDown();
        first.join();
        closing.join();

        assertEquals((LATER + 1) * (Frame.HEADER + "first".length()), wire.written.size());
        assertTrue(wire.closed);
    }
}
