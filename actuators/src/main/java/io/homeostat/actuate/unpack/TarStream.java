package io.homeostat.actuate.unpack;

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
    private boolean inHeader;
    private boolean ending;
    private long headerStart;
    private boolean headerHasContent;

    TarStream(InputStream in, long maxBytes) {
        super(in);
        this.maxBytes = maxBytes;
    }

    /** What is read next is the filling of the last block, then a header or the end. */
    void beginHeader() {
        inHeader = true;
        headerStart = (bytes + BLOCK - 1) / BLOCK * BLOCK;
        headerHasContent = false;
    }

    /** What is read next belongs to a file. */
    void endHeader() {
        inHeader = false;
    }

    /** When there was no header any more: that there are zeros, which a tar ends with, and nothing else. */
    void requireEnd(byte[] buffer) throws IOException, Refusal {
        ending = true;
        while (!headerHasContent && read(buffer, 0, buffer.length) >= 0) {}
        if (headerHasContent) {
            throw new Refusal("something other than zeros comes after its end");
        }
        if (bytes - headerStart < BLOCK) {
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
        long start = bytes;
        bytes += count;
        if (bytes > maxBytes) {
            throw new IOException("it is longer than " + maxBytes + " bytes when it is decompressed");
        }
        if (inHeader) {
            if (!ending && bytes - headerStart > MAX_HEADER_BYTES) {
                throw new IOException("the header of an entry is longer than " + MAX_HEADER_BYTES + " bytes");
            }
            int filling = (int) Math.min(count, Math.max(headerStart - start, 0));
            for (int i = filling; i < count && !headerHasContent; i++) {
                headerHasContent = data[offset + i] != 0;
            }
        }
    }
}
