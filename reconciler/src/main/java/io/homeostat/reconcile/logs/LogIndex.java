package io.homeostat.reconcile.logs;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.launch.LogRotation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.zip.CRC32C;

/**
 * The file that says when a log and its copies had which size: points of fixed width, in a directory to which workloads can't write. What a
 * crash or a full disk has left half written is ignored.
 */
final class LogIndex {
    /** More are thinned out, the older half of them, so that the past is known less and less precisely. */
    static final int MOST = 2048;

    private static final int WIDTH = 4 * Long.BYTES;
    private static final FileAttribute<Set<PosixFilePermission>> PRIVATE_DIRECTORY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    private static final FileAttribute<Set<PosixFilePermission>> PRIVATE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    /**
     * What is before this offset was written at this time or earlier.
     *
     * @param file the number of its inode, which a copy keeps when it is renamed
     * @param millis since 1970
     */
    record Point(long file, long offset, long millis) {}

    /** A log or a copy of one, as it is now. */
    record Extent(long file, long size, Instant changed) {

        /** @throws NoSuchFileException when there is no regular file of this name */
        static Extent of(Path path) throws IOException {
            BasicFileAttributes seen = Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            if (!seen.isRegularFile()) {
                throw new NoSuchFileException(path.toString(), null, "it is no file");
            }
            long file = (long) Files.getAttribute(path, "unix:ino", LinkOption.NOFOLLOW_LINKS);
            return new Extent(file, seen.size(), seen.lastModifiedTime().toInstant());
        }

        /** A change in the future is no time at which anything can have been written. */
        Point end(Instant now) {
            return new Point(file, size, (changed.isAfter(now) ? now : changed).toEpochMilli());
        }
    }

    private final Path path;

    LogIndex(Path path) {
        this.path = path;
    }

    /** Oldest first; none when there is no such file. */
    ImmutableList<Point> read() throws IOException {
        ByteBuffer bytes;
        try {
            bytes = ByteBuffer.wrap(Files.readAllBytes(path));
        } catch (NoSuchFileException e) {
            return ImmutableList.of();
        }
        ImmutableList.Builder<Point> points = ImmutableList.builder();
        while (bytes.remaining() >= WIDTH) {
            Point point = new Point(bytes.getLong(), bytes.getLong(), bytes.getLong());
            if (bytes.getLong() == sum(point)) {
                points.add(point);
            }
        }
        return points.build();
    }

    void append(Point point) throws IOException {
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.APPEND)) {
            write(file, bytes(List.of(point)));
        }
    }

    void replace(List<Point> points) throws IOException {
        Path directory = path.toAbsolutePath().getParent();
        if (directory != null) {
            Files.createDirectories(directory, PRIVATE_DIRECTORY);
        }
        Path fresh = path.resolveSibling(path.getFileName() + ".new");
        Files.deleteIfExists(fresh);
        try (FileChannel file =
                FileChannel.open(fresh, Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW), PRIVATE)) {
            write(file, bytes(points));
        }
        Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE);
    }

    private static void write(FileChannel file, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            file.write(bytes);
        }
    }

    private static ByteBuffer bytes(List<Point> points) {
        ByteBuffer bytes = ByteBuffer.allocate(points.size() * WIDTH);
        for (Point point : points) {
            bytes.putLong(point.file())
                    .putLong(point.offset())
                    .putLong(point.millis())
                    .putLong(sum(point));
        }
        return bytes.flip();
    }

    private static long sum(Point point) {
        CRC32C sum = new CRC32C();
        sum.update(ByteBuffer.allocate(WIDTH)
                .putLong(point.file())
                .putLong(point.offset())
                .putLong(point.millis())
                .flip());
        return sum.getValue();
    }

    /** The copies of a log, oldest first. */
    static ImmutableList<Extent> copies(Path log) throws IOException {
        ImmutableList.Builder<Extent> copies = ImmutableList.builder();
        for (Path copy : LogRotation.copies(log)) {
            try {
                copies.add(Extent.of(copy));
            } catch (NoSuchFileException e) {
                // Rotated away just now, so there is nothing to say of it.
            }
        }
        return copies.build();
    }

    /**
     * Those that still hold. Of the log itself none does when it has become shorter, or was rotated by somebody who noted nothing: the
     * newest copy has no point then.
     */
    static ImmutableList<Point> valid(List<Point> points, Extent log, List<Extent> copies) {
        boolean shorter = points.stream().anyMatch(point -> point.file() == log.file() && point.offset() > log.size());
        boolean rotated = !copies.isEmpty() && !has(points, copies.getLast());
        return points.stream()
                .filter(point -> point.file() == log.file()
                        ? !shorter && !rotated
                        : copies.stream()
                                .anyMatch(copy -> copy.file() == point.file() && point.offset() <= copy.size()))
                .collect(ImmutableList.toImmutableList());
    }

    static boolean has(List<Point> points, Extent extent) {
        return points.stream().anyMatch(point -> point.file() == extent.file());
    }

    /** A point that is left out makes what is before it seem newer, never older. */
    static List<Point> thinned(List<Point> points) {
        if (points.size() < MOST) {
            return points;
        }
        List<Point> left = new ArrayList<>();
        int half = points.size() / 2;
        for (int i = 0; i < points.size(); i++) {
            boolean last = i + 1 == points.size()
                    || points.get(i + 1).file() != points.get(i).file();
            if (i >= half || last || i % 2 == 1) {
                left.add(points.get(i));
            }
        }
        return left;
    }
}
