package io.homeostat.reconcile.agent.guest;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import java.util.ArrayDeque;
import java.util.Deque;

/** What a command prints until somebody reads it. When it is full the command waits, as it would for a pipe. */
final class OutputBuffer {
    private static final int MOST = 256 << 10;
    private static final long LOOK = 50;

    /** The bytes that the shortest piece counts as, which takes memory beside its content. */
    private static final int LEAST_COST = 256;

    private final Deque<ByteString> pieces = new ArrayDeque<>();
    private int size;
    private boolean full;
    private boolean ended;
    private boolean abandoned;

    /** Waits for room. Forgets the piece if nobody will read it. */
    synchronized void put(ByteString piece) throws InterruptedException {
        while (size > 0 && size + cost(piece) > MOST && !abandoned) {
            full = true;
            wait();
        }
        full = false;
        if (abandoned) {
            return;
        }
        pieces.add(piece);
        size += cost(piece);
        notifyAll();
    }

    private static int cost(ByteString piece) {
        return Math.max(LEAST_COST, piece.size());
    }

    /** Returns whether the command waits for room. */
    synchronized boolean isFull() {
        return full;
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
        size -= cost(first);
        if (length > 0 && first.size() > length) {
            ByteString rest = first.substring(length);
            pieces.addFirst(rest);
            size += cost(rest);
            first = first.substring(0, length);
        }
        notifyAll();
        return first;
    }
}
