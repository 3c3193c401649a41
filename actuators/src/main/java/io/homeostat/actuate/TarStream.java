package io.homeostat.actuate;

import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * The bytes of a tar on their way to its parser. Bounds what a single header may take, because the parser keeps headers of any
 * length in memory, and knows whether the archive has ended as it should.
 */
final class TarStream extends FilterInputStream {
    private static final int BLOCK = 512;
    private static final long MAX_HEADER_BYTES = 1 << 20;

    private final long maxBytes;
    private long bytes;
    private long headerStart = -1;
    private long zerosAtEnd;

    TarStream(InputStream in, long maxBytes) {
        super(in);
        this.maxBytes = maxBytes;
    }

    /** What is read next belongs to a header. */
    void beginHeader() {
        headerStart = bytes;
    }

    /** What is read next belongs to a file. */
    void endHeader() {
        headerStart = -1;
    }

    /** Reads what comes after the last entry: the rest of the zeros that a tar ends with, and nothing else. */
    void requireEnd(byte[] buffer) throws IOException, Refusal {
        for (int count; (count = in.read(buffer)) >= 0; ) {
            account(buffer, 0, count);
            if (trailingZeros(buffer, 0, count) != count) {
                throw new Refusal("something other than zeros comes after its end");
            }
        }
        if (zerosAtEnd < BLOCK) {
            throw new EOFException("it ends without the mark of its end");
        }
    }

    @Override
    public int read(byte[] into, int offset, int count) throws IOException {
        int got = in.read(into, offset, count);
        if (got > 0) {
            account(into, offset, got);
        }
        return got;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    /** By reading, so that everything is counted. */
    @Override
    public long skip(long count) throws IOException {
        byte[] buffer = new byte[(int) Math.min(count, 8192)];
        long skipped = 0;
        while (skipped < count) {
            int got = read(buffer, 0, (int) Math.min(buffer.length, count - skipped));
            if (got < 0) {
                break;
            }
            skipped += got;
        }
        return skipped;
    }

    @Override
    public boolean markSupported() {
        return false;
    }

    private void account(byte[] data, int offset, int count) throws IOException {
        bytes += count;
        int zeros = trailingZeros(data, offset, count);
        zerosAtEnd = zeros == count ? zerosAtEnd + zeros : zeros;
        if (bytes > maxBytes) {
            throw new IOException("it is longer than " + maxBytes + " bytes when it is decompressed");
        }
        if (headerStart >= 0 && bytes - headerStart > MAX_HEADER_BYTES) {
            throw new IOException("the header of an entry is longer than " + MAX_HEADER_BYTES + " bytes");
        }
    }

    private static int trailingZeros(byte[] data, int offset, int count) {
        int at = offset + count;
        while (at > offset && data[at - 1] == 0) {
            at--;
        }
        return offset + count - at;
    }
}
