package io.homeostat.reconcile.agent.guest;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.homeostat.actuate.launch.LogAppends;
import io.homeostat.reconcile.agent.frontend.LogCursor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;

/**
 * What a container prints on one of its outputs, for a client that reads it piece by piece. It is read from the log, which is bounded: nobody
 * who does not read holds up the container. Who asks for the next piece has got the one before; how far that is outlives this process, so
 * that after a crash a piece may come twice and none is missing. In the place of what the log could not hold until it was read is a line
 * that says so.
 */
final class ContainerStream {
    private static final int USUAL = 64 << 10;
    private static final int MOST = 1 << 20;
    private static final long SHORTEST_PAUSE = 5;
    private static final long LONGEST_PAUSE = 100;

    private final LogCursor cursor;
    private int given;

    ContainerStream(Path log, Path position) {
        cursor = new LogCursor(log, position);
    }

    /**
     * Waits for the next piece; empty at the end.
     *
     * @param length 0: as it suits
     * @param isOver whether nothing is printed any more
     */
    synchronized ByteString read(int length, BooleanSupplier isOver) throws IOException, InterruptedException {
        ByteBuffer piece = ByteBuffer.allocate(length <= 0 ? USUAL : Math.min(length, MOST));
        if (given > 0) {
            cursor.taken(given);
            given = 0;
        }
        long pause = SHORTEST_PAUSE;
        while (true) {
            // Before it is read: what was printed last is there then.
            boolean over = isOver.getAsBoolean();
            boolean found = cursor.read(piece);
            if (Context.current().isCancelled()) {
                throw Refusals.cancelled();
            }
            long lost = cursor.givenUp();
            if (lost > 0) {
                ByteString line = ByteString.copyFromUtf8(LogAppends.lossLine(
                        lost, "nobody took it in time, and limits.logBytesPerWorkload of the guest holds no more"));
                return line.substring(0, Math.min(line.size(), piece.capacity()));
            }
            if (found) {
                given = piece.remaining();
                return ByteString.copyFrom(piece);
            }
            if (over && !cursor.isUnsure()) {
                return ByteString.EMPTY;
            }
            Thread.sleep(pause);
            pause = Math.min(2 * pause, LONGEST_PAUSE);
        }
    }
}
