package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.Interruption;
import io.homeostat.actuate.unpack.UnpackLimits.UnpackBudget;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.function.LongSupplier;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.apache.commons.compress.compressors.gzip.GzipCompressorInputStream;
import org.jspecify.annotations.Nullable;

/** Unpacks a tar, compressed or not, in one pass. */
final class TarReader {
    private static final int INPUT_BUFFER = 64 << 10;

    private TarReader() {}

    /** Closes the archive. */
    static void readGzip(InputStream archive, StagedTree tree, UnpackBudget budget)
            throws IOException, RefusedArchive, InterruptedException {
        InputStream decompressed;
        try {
            // All members, like gzip; nothing else may follow the last one.
            decompressed = GzipCompressorInputStream.builder()
                    .setInputStream(new GzipSource(archive))
                    .setDecompressConcatenated(true)
                    .get();
        } catch (IOException e) {
            archive.close();
            throw DamagedArchive.of("its gzip header is not valid", e);
        }
        try (InputStream content = new ReadAhead(decompressed, "its compressed data is not valid gzip")) {
            read(content, tree, budget);
        }
    }

    /** Closes the archive. */
    static void readPlain(InputStream archive, StagedTree tree, UnpackBudget budget)
            throws IOException, RefusedArchive, InterruptedException {
        try (InputStream content = new ReadAhead(archive, "it can't be read")) {
            read(content, tree, budget);
        }
    }

    private static void read(InputStream content, StagedTree tree, UnpackBudget budget)
            throws IOException, RefusedArchive, InterruptedException {
        TarStream stream = new TarStream(content, budget::maxStreamBytes);
        try {
            read(stream, tree);
        } catch (IOException | RuntimeException | StackOverflowError | OutOfMemoryError e) {
            throw DamagedArchive.of(stream.problem(), e);
        }
    }

    private static void read(TarStream stream, StagedTree tree)
            throws IOException, RefusedArchive, InterruptedException {
        TarArchiveInputStream tar = new Headers(stream);
        byte[] buffer = new byte[64 << 10];
        stream.beginHeader();
        for (TarArchiveEntry entry; (entry = tar.getNextEntry()) != null; stream.beginHeader()) {
            stream.endHeader();
            Interruption.check();
            take(entry, tar, tree);
            // Skips what was not read of an entry, so that the next header begins where it should.
            while (tar.read(buffer) >= 0) {
                Interruption.check();
            }
        }
        stream.requireEnd(buffer);
    }

    private static void take(TarArchiveEntry entry, TarArchiveInputStream tar, StagedTree tree)
            throws IOException, RefusedArchive {
        String name = entry.getName();
        int mode = entry.getMode();
        switch (entry.getLinkFlag()) {
            case TarConstants.LF_NORMAL,
                    TarConstants.LF_OLDNORM,
                    TarConstants.LF_CONTIG,
                    TarConstants.LF_GNUTYPE_SPARSE -> {
                // Tars from before POSIX mark directories with a trailing slash.
                if (name.endsWith("/") && entry.getSize() == 0) {
                    tree.directory(name, mode);
                } else if (name.endsWith("/")) {
                    throw RefusedArchive.entry(name, "is a directory with content");
                } else if (!tar.canReadEntryData(entry)) {
                    throw RefusedArchive.entry(name, "is stored in a way that can't be read");
                } else {
                    tree.file(name, mode, entry.getLastModifiedTime(), tar);
                }
            }
            case TarConstants.LF_DIR -> tree.directory(name, mode);
            case TarConstants.LF_SYMLINK -> tree.symlink(name, entry.getLinkName());
            case TarConstants.LF_LINK -> tree.hardLink(name, entry.getLinkName());
            case TarConstants.LF_CHR -> throw RefusedArchive.entry(name, "is a character device");
            case TarConstants.LF_BLK -> throw RefusedArchive.entry(name, "is a block device");
            case TarConstants.LF_FIFO -> throw RefusedArchive.entry(name, "is a FIFO");
            default -> throw RefusedArchive.entry(name, "is of the unknown type " + (entry.getLinkFlag() & 0xff));
        }
    }

    /**
     * Passes the bytes of a gzip to its decompressor, and bounds its headers, because the names in them are kept in memory. The
     * decompressor reads headers byte by byte, and compressed data in blocks.
     */
    private static final class GzipSource extends FilterInputStream {
        private static final int MAX_HEADER_BYTES = 64 << 10;

        private int headerBytes;

        GzipSource(InputStream in) {
            super(new BufferedInputStream(in, INPUT_BUFFER));
        }

        @Override
        public int read() throws IOException {
            headerBytes++;
            if (headerBytes > MAX_HEADER_BYTES) {
                throw new DamagedArchive("a gzip header is longer than " + MAX_HEADER_BYTES
                        + " bytes; compress it without names and comments, as gzip -n does");
            }
            return super.read();
        }

        @Override
        public int read(byte[] into, int offset, int count) throws IOException {
            headerBytes = 0;
            return super.read(into, offset, count);
        }
    }

    /**
     * A parser that bounds the headers of headers: it reads each within the one before, and all of them have a copy of what global ones
     * say, those of the whole archive so far.
     */
    private static final class Headers extends TarArchiveInputStream {
        /** In a row. Of an entry there are at most a long name, a long link, an extended header and a global one. */
        private static final int MOST = 16;

        /** In the whole archive. Git writes the name of a commit, in 52 bytes; hardly anybody else writes any. */
        private static final long MAX_GLOBAL_BYTES = 16 << 10;

        private int depth;
        private long globalBytes;

        Headers(TarStream stream) {
            super(stream, UTF_8.name());
        }

        /** Called by itself after each header of a header. */
        @Override
        public TarArchiveEntry getNextEntry() throws IOException {
            TarArchiveEntry before = getCurrentEntry();
            if (depth > 0 && before.isGlobalPaxHeader()) {
                globalBytes += before.getSize();
            }
            if (globalBytes > MAX_GLOBAL_BYTES) {
                throw new DamagedArchive("its global headers are longer than " + MAX_GLOBAL_BYTES
                        + " bytes; pack it without global extended headers");
            }
            if (depth == MOST) {
                throw new DamagedArchive("an entry has more than " + MOST + " headers");
            }
            depth++;
            try {
                return super.getNextEntry();
            } finally {
                depth--;
            }
        }
    }

    /**
     * Passes the bytes of a tar to its parser. Bounds the size of a single header, because the parser keeps headers of any length in
     * memory, and checks that the archive ends as it should.
     */
    private static final class TarStream extends FilterInputStream {
        private static final int BLOCK = 512;

        /** Of an entry with all its headers. Parsed, short records take twenty times as much, and several archives are read at once. */
        private static final long MAX_HEADER_BYTES = 256 << 10;

        private final LongSupplier maxBytes;
        private long bytes;
        private boolean inHeader;
        private boolean ending;
        private boolean ended;
        private long headerStart;
        private boolean headerHasContent;

        /** @param maxBytes how many may have been read so far */
        TarStream(InputStream in, LongSupplier maxBytes) {
            super(in);
            this.maxBytes = maxBytes;
        }

        /** The next bytes are the padding of the last block, then a header or the end. */
        void beginHeader() {
            inHeader = true;
            headerStart = (bytes + BLOCK - 1) / BLOCK * BLOCK;
            headerHasContent = false;
        }

        /** The next bytes belong to a file. */
        void endHeader() {
            inHeader = false;
        }

        /** What is wrong when its parser does not accept it. */
        String problem() {
            return ended
                    ? "it is truncated after " + bytes + " bytes"
                    : inHeader
                            ? "it is not a valid tar: the header at byte " + headerStart + " is wrong"
                            : "it is not a valid tar: the entry before byte " + bytes + " is wrong";
        }

        /** Checks, after the last header, that there are the zeros that end a tar, and nothing else. */
        void requireEnd(byte[] buffer) throws IOException, RefusedArchive {
            ending = true;
            while (!headerHasContent && read(buffer, 0, buffer.length) >= 0) {}
            if (headerHasContent) {
                throw new RefusedArchive("something other than zeros comes after its end");
            }
            if (bytes - headerStart < BLOCK) {
                throw new DamagedArchive("it ends without the mark of its end");
            }
        }

        @Override
        public int read(byte[] into, int offset, int count) throws IOException {
            int got = in.read(into, offset, count);
            if (got > 0) {
                account(into, offset, got);
            }
            ended |= got < 0;
            return got;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        /** Skips by reading, so that everything is counted. */
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
            if (bytes > maxBytes.getAsLong()) {
                throw new DamagedArchive("it has too much beside the content of its files before byte " + bytes
                        + ", such as zeros after its end; pack it again");
            }
            if (inHeader) {
                if (!ending && bytes - headerStart > MAX_HEADER_BYTES) {
                    throw new DamagedArchive("the header of an entry is longer than " + MAX_HEADER_BYTES + " bytes");
                }
                int filling = (int) Math.min(count, Math.max(headerStart - start, 0));
                for (int i = filling; i < count && !headerHasContent; i++) {
                    headerHasContent = data[offset + i] != 0;
                }
            }
        }
    }

    /** Reads a stream on a thread of its own, so that decompressing and writing overlap. Closes the stream. */
    private static final class ReadAhead extends InputStream {
        private static final int CHUNKS = 8;

        private final InputStream source;
        private final String problem;
        private final BlockingQueue<Chunk> free = new ArrayBlockingQueue<>(CHUNKS);
        private final BlockingQueue<Chunk> filled = new ArrayBlockingQueue<>(CHUNKS + 1);
        private final Thread thread;
        private volatile @Nullable Throwable broken;
        private @Nullable Chunk current;
        private int position;

        /** @param problem what is wrong when the stream can't be read */
        ReadAhead(InputStream source, String problem) {
            this.source = source;
            this.problem = problem;
            for (int i = 0; i < CHUNKS; i++) {
                free.add(Chunk.empty());
            }
            thread = Thread.ofPlatform().daemon().name("unpack").start(this::run);
        }

        private void run() {
            try {
                boolean more = true;
                while (more) {
                    Chunk chunk = free.take();
                    chunk.length = source.readNBytes(chunk.bytes, 0, chunk.bytes.length);
                    more = chunk.length == chunk.bytes.length;
                    filled.put(chunk);
                }
                filled.put(Chunk.END);
            } catch (InterruptedException e) {
                // Closed: nobody is reading any more.
                return;
            } catch (IOException | RuntimeException | Error e) {
                broken = e;
                // There is always room for this, so the reader notices.
                boolean _ = filled.offer(Chunk.END);
            }
        }

        @Override
        public int read(byte[] into, int offset, int count) throws IOException {
            if (count == 0) {
                return 0;
            }
            Chunk chunk = current;
            if (chunk != null && chunk != Chunk.END && position == chunk.length) {
                free.add(chunk);
                chunk = null;
            }
            while (chunk == null) {
                chunk = next();
                position = 0;
                if (chunk.length == 0 && chunk != Chunk.END) {
                    free.add(chunk);
                    chunk = null;
                }
            }
            current = chunk;
            if (chunk == Chunk.END) {
                throwIfBroken();
                return -1;
            }
            int copied = Math.min(count, chunk.length - position);
            System.arraycopy(chunk.bytes, position, into, offset, copied);
            position += copied;
            return copied;
        }

        private Chunk next() throws InterruptedIOException {
            try {
                return filled.take();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted");
            }
        }

        private void throwIfBroken() throws IOException {
            Throwable cause = broken;
            if (cause != null) {
                throw DamagedArchive.of(cause instanceof EOFException ? "it is truncated" : problem, cause);
            }
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public void close() throws IOException {
            thread.interrupt();
            boolean interrupted = false;
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    // The stream may be closed only when nobody reads it; the thread ends at the next chunk.
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            source.close();
        }
    }
}
