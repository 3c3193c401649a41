package io.homeostat.reconcile.agent.guest;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import java.util.ArrayDeque;
import java.util.Deque;

/** What a command prints until somebody reads it. When it is full the command waits, as it would for a pipe. */
final class OutputBuffer {
    private static final int MOST = 256 << 10;
    private static final long LOOK = 50;

    private final Deque<ByteString> pieces = new ArrayDeque<>();
    private int size;
    private boolean ended;
    private boolean abandoned;

    /** Waits for room. Forgets the piece if nobody will read it. */
    synchronized void put(ByteString piece) throws InterruptedException {
        while (size > 0 && size + piece.size() > MOST && !abandoned) {
            wait();
        }
        if (abandoned) {
            return;
        }
        pieces.add(piece);
        size += piece.size();
        notifyAll();
    }

    synchronized void end() {
        ended = true;
        notifyAll();
    }

    /** Nobody will read it: whoever prints need not wait. */
    synchronized void abandon() {
        abandoned = true;
        pieces.clear();
        size = 0;
        notifyAll();
    }

    /** Waits for the next piece; empty at the end. */
    synchronized ByteString take(int length) throws InterruptedException {
        while (pieces.isEmpty() && !ended && !abandoned) {
            if (Context.current().isCancelled()) {
                throw Refusals.cancelled();
            }
            wait(LOOK);
        }
        ByteString first = pieces.poll();
        if (first == null) {
            return ByteString.EMPTY;
        }
        if (length > 0 && first.size() > length) {
            pieces.addFirst(first.substring(length));
            first = first.substring(0, length);
        }
        size -= first.size();
        notifyAll();
        return first;
    }
}
