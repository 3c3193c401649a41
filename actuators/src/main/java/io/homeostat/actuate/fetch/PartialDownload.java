package io.homeostat.actuate.fetch;

import io.homeostat.actuate.Chunk;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.archive.ArchiveStore;
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

/**
 * The part of an archive that has arrived, in {@code downloads/<key>}, hashed as far as it goes.
 *
 * <p>Beside it, {@code <key>.origin} says what it is the beginning of: the key, the URL without its query, the server's name for
 * this version, the length. It is written before the first byte, so bytes without a fitting note are worth nothing. The kernel
 * keeps written bytes over a killed process but not over a power failure, after which a file may have its length and not its
 * content; with a checksum that is found out at the end, without one only a part written since this boot is continued.
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
    private HashingThread hashing = new HashingThread();
    private String validator = "";
    private long total = -1;
    private long length;
    private boolean hashed = true;

    private PartialDownload(Disk disk, Path file, String key, String shownUrl, FileChannel channel) {
        this.disk = disk;
        this.file = file;
        this.note = note(file);
        this.key = key;
        this.shownUrl = shownUrl;
        this.channel = channel;
    }

    static PartialDownload open(Disk disk, Path file, String key, String shownUrl) throws IOException {
        FileChannel channel = FileChannel.open(
                file,
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(OWNER_ONLY));
        PartialDownload partial = new PartialDownload(disk, file, key, shownUrl, channel);
        partial.recall();
        return partial;
    }

    /** Deletes what an interrupted download has left. */
    static void forget(Disk disk, Path file) throws IOException {
        disk.delete(note(file));
        disk.delete(file);
    }

    /** Deletes a download that has nothing to continue. */
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
            // No note, or one that this version did not write: the bytes are of no use.
            return;
        }
        boolean sure = !key.startsWith(ArchiveStore.UNVERIFIED) || bootId().equals(origin.getProperty("boot"));
        if (sure && key.equals(origin.getProperty("key")) && shownUrl.equals(origin.getProperty("url"))) {
            validator = origin.getProperty("validator", "");
            length = validator.isEmpty() ? 0 : channel.size();
            hashed = length == 0;
        }
    }

    /** Bytes that are there and of use. */
    long length() {
        return length;
    }

    long total() {
        return total;
    }

    /** How much of it need not be asked for; nothing when its version has no name, for the rest could be of another. */
    long resumableBytes() {
        return validator.isEmpty() ? 0 : length;
    }

    String validator() {
        return validator;
    }

    /** Whether every byte is there; false when the length is not known. */
    boolean isWhole() {
        return length > 0 && length == total;
    }

    /** Takes the first bytes of a new answer next. */
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
    }

    private void empty(String newValidator, long newTotal) throws IOException {
        channel.truncate(0);
        length = 0;
        hashed = true;
        if (hashing.isUsed()) {
            hashing.close();
            hashing = new HashingThread();
        }
        validator = newValidator;
        total = newTotal;
    }

    /** Takes the bytes after those that are there next. */
    void proceed(long knownTotal) {
        if (knownTotal >= 0) {
            total = knownTotal;
        }
    }

    /** Hashes what an earlier process has left; nothing when that is done. */
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

    /** Appends a chunk; it was taken from here. */
    void append(Chunk chunk) throws IOException, InterruptedException {
        ByteBuffer bytes = ByteBuffer.wrap(chunk.bytes, 0, chunk.length);
        while (bytes.hasRemaining()) {
            length += channel.write(bytes, length);
        }
        hashing.hash(chunk);
    }

    /** The hash of all that is there; nothing can be appended after it. */
    String sha256() throws InterruptedException {
        return hashing.finish();
    }

    /** Forgets what is there. */
    void discard() throws IOException {
        empty("", -1);
        disk.delete(note);
    }

    /** Makes all of it durable and moves it, visible at once, to its place. */
    void publish(Path archive) throws IOException {
        channel.force(true);
        disk.rename(file, archive);
        disk.delete(note);
    }

    @Override
    public void close() throws IOException {
        hashing.close();
        channel.close();
    }

    private static String bootId() throws IOException {
        return Files.readString(BOOT_ID).strip();
    }
}
