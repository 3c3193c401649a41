package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class OutputBufferTest {
    private static final Duration LONGEST = Duration.ofSeconds(60);
    private static final ByteString LARGE = ByteString.copyFrom(new byte[900 << 10]);

    private final OutputBuffer buffer = new OutputBuffer();

    @Test
    void piecesComeInTheirOrderAndNoLongerThanAskedFor() throws InterruptedException {
        buffer.put(ByteString.copyFromUtf8("hello"));
        buffer.put(ByteString.copyFromUtf8("you"));
        buffer.end();

        assertEquals("hel", buffer.take(3).toStringUtf8());
        assertEquals("lo", buffer.take(3).toStringUtf8());
        assertEquals("you", buffer.take(0).toStringUtf8());
        for (int time = 0; time < 2; time++) {
            assertTrue(buffer.take(3).isEmpty());
        }
    }

    @Test
    void whoPrintsTooMuchWaitsForAReaderAndForNobodyOnceItIsAbandoned() throws InterruptedException {
        buffer.put(LARGE);
        Thread printing = Thread.ofVirtual().start(() -> {
            try {
                buffer.put(LARGE);
                buffer.put(LARGE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        Awaitility.await().atMost(LONGEST).until(() -> printing.getState() == Thread.State.WAITING);

        assertEquals(LARGE.size(), buffer.take(0).size());
        assertEquals(LARGE.size(), buffer.take(0).size());
        assertTrue(printing.join(LONGEST));
        Thread another = Thread.ofVirtual().start(() -> {
            try {
                buffer.put(LARGE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        Awaitility.await().atMost(LONGEST).until(() -> another.getState() == Thread.State.WAITING);
        buffer.abandon();
        assertTrue(another.join(LONGEST));
        assertEquals(ByteString.EMPTY, buffer.take(0));
    }

    @Test
    void aBufferTakesAsMuchAsItHoldsAndWaitsForRoomBeyondThat() throws InterruptedException {
        ByteString half = ByteString.copyFrom(new byte[128 << 10]);
        Thread printing = Thread.ofVirtual().start(() -> {
            try {
                buffer.put(half);
                buffer.put(half);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        assertTrue(printing.join(LONGEST));
        Thread oneMore = Thread.ofVirtual().start(() -> {
            try {
                buffer.put(ByteString.copyFromUtf8("x"));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        Awaitility.await().atMost(LONGEST).until(() -> oneMore.getState() == Thread.State.WAITING);

        assertTrue(buffer.isFull());
        assertEquals(256, buffer.take(256).size());

        assertTrue(oneMore.join(LONGEST));
        assertFalse(buffer.isFull());
    }

    @Test
    void smallPiecesTakeMoreThanTheirBytes() throws InterruptedException {
        Thread printing = Thread.ofVirtual().start(() -> {
            try {
                for (int piece = 0; piece < 1025; piece++) {
                    buffer.put(ByteString.copyFromUtf8("x"));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        Awaitility.await().atMost(LONGEST).until(buffer::isFull);

        assertEquals(1, buffer.take(0).size());

        assertTrue(printing.join(LONGEST));
    }

    @Test
    void whoGivesUpReadingIsToldSo() {
        Context.CancellableContext call = Context.ROOT.withCancellation();
        call.cancel(null);

        call.run(() -> assertThrows(StatusRuntimeException.class, () -> buffer.take(0)));
    }
}
