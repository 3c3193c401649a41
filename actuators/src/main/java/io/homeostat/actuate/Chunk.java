package io.homeostat.actuate;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;

/** Some bytes on their way from one thread to another; used again when the other is done with them. */
public final class Chunk {
    /** Large enough that a system call or a hand-over costs nothing by comparison, small enough that some fit into a small heap. */
    public static final int BYTES = 256 << 10;

    /** What a queue of chunks ends with. */
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
