package io.homeostat.observe.ttrpc;

import com.google.protobuf.ByteString;
import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Messages of one call that have arrived, until they are asked for. ttRPC can't slow down whoever sends, and waiting for one call would
 * delay all others of the connection, so there is an end to what is kept.
 */
final class Inbound {
    /** Bytes, of one message and as much again. */
    private static final int MOST = 2 * Frame.LONGEST;

    private final Queue<ByteString> messages = new ArrayDeque<>();
    private int requested;
    private int bytes;
    private boolean ended;
    private boolean told;

    /** False when there is too much already. */
    synchronized boolean add(ByteString message) {
        // An empty message takes room, too.
        int size = message.size() + Frame.OVERHEAD;
        if (bytes + size > MOST) {
            return false;
        }
        bytes += size;
        messages.add(message);
        return true;
    }

    synchronized void request(int count) {
        requested = (int) Math.min(Integer.MAX_VALUE, (long) requested + count);
    }

    /** Nothing follows. */
    synchronized void end() {
        ended = true;
    }

    /** Nothing follows, and what was not asked for yet is of no use. */
    synchronized void discard() {
        messages.clear();
        ended = true;
    }

    /** Whether nothing follows. */
    synchronized boolean isEnded() {
        return ended;
    }

    interface Taker {
        void message(ByteString message);

        /** After the last message, once. */
        void end();
    }

    /** Hands over what was asked for. For one thread at a time. */
    void deliver(Taker to) {
        while (true) {
            ByteString next;
            synchronized (this) {
                if (!messages.isEmpty()) {
                    if (requested == 0) {
                        return;
                    }
                    requested--;
                    next = messages.remove();
                    bytes -= next.size() + Frame.OVERHEAD;
                } else if (ended && !told) {
                    told = true;
                    break;
                } else {
                    return;
                }
            }
            to.message(next);
        }
        to.end();
    }
}
