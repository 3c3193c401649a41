package io.homeostat.reconcile.agent.api;

import com.google.protobuf.ByteString;
import io.homeostat.proto.agent.Input;
import io.homeostat.proto.agent.TerminalSize;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** What the caller of one call types. One piece is kept at most: he is asked for the next one when the last was read. */
public final class ApiInput {
    private final Runnable more;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition moved = lock.newCondition();
    private ByteString unread = ByteString.EMPTY;
    private boolean ended;
    private boolean gone;
    private @Nullable TerminalSize size;
    private Runnable onResize = () -> {};

    /** @param more asks for one more piece; called from any thread */
    ApiInput(Runnable more) {
        this.more = more;
    }

    /** Of a caller who types nothing. */
    public static ApiInput none() {
        ApiInput none = new ApiInput(() -> {});
        none.end();
        return none;
    }

    void hear(Input piece) {
        switch (piece.getPieceCase()) {
            case STANDARD_INPUT -> {
                if (!piece.getStandardInput().isEmpty()) {
                    take(piece.getStandardInput());
                    return;
                }
            }
            case END -> end();
            case SIZE -> resize(piece.getSize());
            case REQUEST, PIECE_NOT_SET -> {
                // A second request is none, and what a later version may say is nothing that this one could do.
            }
        }
        more.run();
    }

    private void take(ByteString bytes) {
        lock.lock();
        try {
            unread = bytes;
            moved.signalAll();
        } finally {
            lock.unlock();
        }
    }

    void end() {
        lock.lock();
        try {
            ended = true;
            moved.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Nobody types any more, nor will it be read. */
    void gone() {
        lock.lock();
        try {
            gone = true;
            moved.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void resize(TerminalSize next) {
        Runnable told;
        lock.lock();
        try {
            size = next;
            told = onResize;
        } finally {
            lock.unlock();
        }
        told.run();
    }

    /** How large the caller's terminal is, as he said last. */
    public Optional<TerminalSize> size() {
        lock.lock();
        try {
            return Optional.ofNullable(size);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Tells of each new size from now on, and who asked before no more.
     *
     * @param changed called on the thread of the transport, which must not wait
     */
    public void onResize(Runnable changed) {
        lock.lock();
        try {
            onResize = changed;
        } finally {
            lock.unlock();
        }
    }

    /** Fails when the caller is gone. */
    public InputStream standardInput() {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
            }

            @Override
            public int read(byte[] into, int from, int length) throws IOException {
                Objects.checkFromIndexSize(from, length, into.length);
                return length == 0 ? 0 : await(into, from, length);
            }
        };
    }

    private int await(byte[] into, int from, int length) throws IOException {
        int taken;
        lock.lock();
        try {
            while (unread.isEmpty() && !ended && !gone) {
                moved.await();
            }
            if (gone) {
                throw new InterruptedIOException("the caller has gone away");
            }
            if (unread.isEmpty()) {
                return -1;
            }
            taken = Math.min(length, unread.size());
            unread.substring(0, taken).copyTo(into, from);
            unread = unread.substring(taken);
            if (!unread.isEmpty()) {
                return taken;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while nothing was typed");
        } finally {
            lock.unlock();
        }
        more.run();
        return taken;
    }
}
