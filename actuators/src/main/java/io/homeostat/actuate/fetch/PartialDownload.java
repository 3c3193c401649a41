package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.WriteBehind;
import io.homeostat.actuate.archive.ArchiveStore;
import io.homeostat.actuate.archive.ArrivingArchive;
import io.homeostat.actuate.archive.Sha256;
import io.homeostat.actuate.fetch.Timing.Deadline;
import io.homeostat.desired.platform.HttpRequests;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The part of an archive that has arrived, in {@code downloads/<key>}, with its hash so far.
 *
 * <p>Beside it, {@code <key>.origin} says what it is the beginning of: key, URL without its query, the server's name for this version,
 * length. It is written before the first byte, so bytes without a matching note are useless. Written bytes survive a killed process but
 * not a power failure, after which a file may have its length but not its content. With a checksum this is noticed at the end; without
 * one, only a part written since this boot is resumed.
 */
final class PartialDownload implements AutoCloseable {
    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rw-------");
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private final Disk disk;
    private final Path file;
    private final Path note;
    private final String key;
    private final String shownUrl;
    private final FileChannel channel;
    private final Consumer<ArrivingArchive> reader;
    private final Semaphore spare;
    private @Nullable ArrivingArchive arriving;
    private HashingThread hashing;
    private WriteBehind behind;
    private String validator = "";
    private long total = -1;
    private long length;
    private boolean hashed = true;

    private PartialDownload(
            Disk disk,
            Path file,
            String key,
            String shownUrl,
            FileChannel channel,
            Consumer<ArrivingArchive> reader,
            Semaphore spare) {
        this.spare = spare;
        this.hashing = new HashingThread(spare);
        this.disk = disk;
        this.file = file;
        this.note = note(file);
        this.key = key;
        this.shownUrl = shownUrl;
        this.channel = channel;
        this.reader = reader;
        this.behind = new WriteBehind(file);
    }

    /**
     * @param reader gets the archive each time that it begins to arrive, if it is a large one with a declared checksum, and closes it
     * @param spare chunks that all downloads share, beside the one that each has
     */
    static PartialDownload open(
            Disk disk, Path file, String key, String shownUrl, Consumer<ArrivingArchive> reader, Semaphore spare)
            throws IOException {
        FileChannel channel = FileChannel.open(
                file,
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(OWNER_ONLY));
        PartialDownload partial = new PartialDownload(disk, file, key, shownUrl, channel, reader, spare);
        partial.recall();
        return partial;
    }

    /** Deletes the remains of an interrupted download. */
    static void forget(Disk disk, Path file) throws IOException {
        disk.delete(note(file));
        disk.delete(file);
    }

    /** Deletes a download with nothing to resume. */
    static void forgetEmpty(Disk disk, Path file) throws IOException {
        if (!Files.exists(file) || Files.size(file) == 0) {
            forget(disk, file);
        }
    }

    private static Path note(Path file) {
        return file.resolveSibling(file.getFileName() + ".origin");
    }

    private void recall() throws IOException {
        Properties origin = new Properties();
        try {
            origin.load(new ByteArrayInputStream(Files.readAllBytes(note)));
            total = Long.parseLong(origin.getProperty("total", ""));
        } catch (NoSuchFileException | IllegalArgumentException e) {
            // No note, or not one of this version: the bytes are useless.
            return;
        }
        boolean sure = !key.startsWith(ArchiveStore.UNVERIFIED) || bootId().equals(origin.getProperty("boot"));
        if (sure && key.equals(origin.getProperty("key")) && shownUrl.equals(origin.getProperty("url"))) {
            String known = origin.getProperty("validator", "");
            validator = HttpRequests.isValidator(known) ? known : "";
            length = validator.isEmpty() ? 0 : channel.size();
            hashed = length == 0;
        }
    }

    /** The number of useful bytes. */
    long length() {
        return length;
    }

    long total() {
        return total;
    }

    /** How many bytes need not be requested again; 0 when the version has no name, because the rest could belong to another one. */
    long resumableBytes() {
        return validator.isEmpty() ? 0 : length;
    }

    String validator() {
        return validator;
    }

    /** Whether all bytes are there; false when the length is not known. */
    boolean isWhole() {
        return length > 0 && length == total;
    }

    /** Starts over with a new answer. */
    void restart(String newValidator, long newTotal) throws IOException {
        empty(newValidator, newTotal);
        Properties origin = new Properties();
        origin.setProperty("key", key);
        origin.setProperty("url", shownUrl);
        origin.setProperty("validator", newValidator);
        origin.setProperty("total", Long.toString(newTotal));
        origin.setProperty("boot", bootId());
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        origin.store(text, null);
        disk.write(note, text.toByteArray());
        // What arrives at once is not worth a second reader.
        if (newTotal > Chunk.BYTES && ArchiveStore.isVerified(key)) {
            arriving = new ArrivingArchive(key, file, newTotal);
            reader.accept(arriving);
        }
    }

    private void empty(String newValidator, long newTotal) throws IOException {
        breakOffReading();
        channel.truncate(0);
        length = 0;
        behind = new WriteBehind(file);
        hashed = true;
        if (hashing.isUsed()) {
            hashing.close();
            hashing = new HashingThread(spare);
        }
        validator = newValidator;
        total = newTotal;
    }

    /** Continues after the present bytes. */
    void proceed(long knownTotal) {
        if (knownTotal >= 0) {
            total = knownTotal;
        }
    }

    /** Hashes what an earlier process has left, unless that is done. */
    void rehash(Deadline deadline) throws IOException, InterruptedException, FailedAttempt {
        for (long at = 0; !hashed && at < length; ) {
            deadline.remaining();
            Chunk chunk = hashing.take();
            int count = channel.read(ByteBuffer.wrap(chunk.bytes), at);
            if (count < 0) {
                throw new IOException(file + " became shorter while it was read");
            }
            chunk.length = (int) Math.min(count, length - at);
            hashing.hash(chunk);
            at += chunk.length;
        }
        hashed = true;
    }

    Chunk take() throws InterruptedException {
        return hashing.take();
    }

    /** Appends a chunk that was taken from here. */
    void append(Chunk chunk) throws IOException, InterruptedException {
        ByteBuffer bytes = ByteBuffer.wrap(chunk.bytes, 0, chunk.length);
        while (bytes.hasRemaining()) {
            length += channel.write(bytes, length);
        }
        behind.written(length);
        if (arriving != null) {
            arriving.arrived(length);
        }
        hashing.hash(chunk);
    }

    /** The hash of everything; nothing can be appended after it. */
    String sha256() throws InterruptedException {
        return hashing.finish();
    }

    void discard() throws IOException {
        empty("", -1);
        disk.delete(note);
    }

    /** Makes the archive, which has been verified, durable and moves it to its place. */
    void publish(Path archive) throws IOException {
        if (arriving != null) {
            arriving.complete();
        }
        channel.force(true);
        disk.rename(file, archive);
        disk.delete(note);
    }

    @Override
    public void close() throws IOException {
        breakOffReading();
        hashing.close();
        channel.close();
    }

    private void breakOffReading() {
        if (arriving != null) {
            arriving.breakOff();
            arriving = null;
        }
    }

    private static String bootId() throws IOException {
        return Files.readString(BOOT_ID).strip();
    }

    /**
     * Hashes on a thread of its own, so that hashing overlaps with waiting for the network or the disk, as far as there are chunks to spare:
     * a download has one, and takes more when it is fast.
     */
    private static final class HashingThread implements AutoCloseable {
        private static final int CHUNKS = 8;

        private final BlockingQueue<Chunk> free = new ArrayBlockingQueue<>(CHUNKS);
        private final BlockingQueue<Chunk> filled = new ArrayBlockingQueue<>(CHUNKS + 1);
        private final Semaphore spare;
        private final Thread thread;
        private volatile @Nullable String result;
        private boolean used;
        private boolean begun;
        private int taken;

        HashingThread(Semaphore spare) {
            this.spare = spare;
            // A platform thread: hashing never waits, so on a carrier thread it would keep others from running.
            thread = Thread.ofPlatform().daemon().name("sha256").start(this::run);
        }

        /** An empty chunk to fill; waits until hashing has caught up. */
        Chunk take() throws InterruptedException {
            Chunk chunk = free.poll();
            if (chunk == null && !begun) {
                begun = true;
                chunk = Chunk.empty();
            } else if (chunk == null && taken < CHUNKS - 1 && spare.tryAcquire()) {
                taken++;
                chunk = Chunk.empty();
            }
            while (chunk == null) {
                chunk = free.poll(1, TimeUnit.SECONDS);
                if (chunk == null && !thread.isAlive()) {
                    throw new IllegalStateException("the thread that computes the SHA-256 has ended");
                }
            }
            chunk.length = 0;
            return chunk;
        }

        void hash(Chunk chunk) throws InterruptedException {
            used |= chunk.length > 0;
            filled.put(chunk);
        }

        /** Whether anything has been handed over. */
        boolean isUsed() {
            return used;
        }

        /** The hash of everything handed over, in lower-case hexadecimal. Nothing can be added after it. */
        String finish() throws InterruptedException {
            used = true;
            filled.put(Chunk.END);
            thread.join();
            String hash = result;
            if (hash == null) {
                throw new IllegalStateException("the thread that computes the SHA-256 has ended without one");
            }
            return hash;
        }

        @Override
        public void close() {
            thread.interrupt();
            spare.release(taken);
            taken = 0;
        }

        private void run() {
            try (Sha256 sha256 = Sha256.start()) {
                for (Chunk chunk = filled.take(); chunk != Chunk.END; chunk = filled.take()) {
                    sha256.update(chunk.bytes, chunk.length);
                    free.put(chunk);
                }
                result = sha256.finish();
            } catch (InterruptedException e) {
                // Closed early: nobody will ask for the hash.
                return;
            }
        }
    }
}
