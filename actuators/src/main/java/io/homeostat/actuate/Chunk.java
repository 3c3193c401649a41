package io.homeostat.actuate;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;

/** A reusable buffer of bytes that one thread hands to another. */
public final class Chunk {
    /** Large enough to make system calls and hand-overs cheap by comparison, small enough for a hundred downloads in a small heap. */
    public static final int BYTES = 64 << 10;

    /** Marks the end of a queue of chunks. */
    public static final Chunk END = new Chunk(0);

    public final byte[] bytes;
    public int length;

    private Chunk(int capacity) {
        bytes = new byte[capacity];
    }

    public static Chunk empty() {
        return new Chunk(BYTES);
    }

    public int room() {
        return bytes.length - length;
    }

    public static void writeFully(WritableByteChannel out, byte[] bytes, int length) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(bytes, 0, length);
        while (buffer.hasRemaining()) {
            out.write(buffer);
        }
    }
}
