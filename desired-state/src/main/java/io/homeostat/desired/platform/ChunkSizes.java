package io.homeostat.desired.platform;

import java.net.ProtocolException;

/**
 * The sizes of the chunks that an answer comes in, or of what they come in, such as records of TLS. To parse short ones takes longer than any
 * network: with few bytes a server could keep a processor busy.
 */
public final class ChunkSizes {
    /** So many are parsed whatever is in them, which takes less than a second of a processor. */
    private static final int MANY = 100_000;

    /** Bytes that more of them have on average. */
    private static final int SHORTEST = 16;

    private long chunks;
    private long bytes;

    /**
     * Counts some.
     *
     * @param more how many chunks, at most
     * @throws ProtocolException when there are too many that are too short
     */
    public void add(int more, long size) throws ProtocolException {
        chunks += more;
        bytes += size;
        if (chunks > MANY && bytes / chunks < SHORTEST) {
            throw new ProtocolException("it comes in chunks of less than " + SHORTEST + " bytes");
        }
    }
}
