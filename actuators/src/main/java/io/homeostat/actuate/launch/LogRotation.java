package io.homeostat.actuate.launch;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Bounds the size of a workload's log. The workload has the file open and appends to it, so the file is copied and then truncated, as by
 * logrotate's {@code copytruncate}: what is written in the few microseconds between the last copy and the truncation is lost.
 *
 * <p>{@code LOG.1} is the newest copy; higher numbers are older. It appears by a rename, so a crash leaves no partial copy under that
 * name; a crash just before the truncation leaves the same lines in both.
 *
 * <p>The directory belongs to the workload, which may put anything there at any time: no link is followed, and only a regular file that
 * belongs to the directory's owner and has no other name is read or truncated.
 */
public final class LogRotation {
    private static final String HALF_DONE = ".rotating";

    /** The extended attribute (user.) of a copy: {@link Extent#begin}, big-endian. */
    private static final String BEGIN = "homeostat.begin";

    /** A writer as fast as we are must not keep us forever. */
    private static final int CATCHING_UP_ROUNDS = 10;

    private static final int LONGEST_LINE = 64 << 10;

    /** More than anybody keeps, because the workload may create as many files beside its log as it likes. */
    private static final int MOST_COPIES = 100;

    private final LogTurns turns;

    /** For logs that nobody in this process writes to. */
    public LogRotation() {
        this(new LogTurns());
    }

    /** @param turns of those in this process who write to the logs: while they have theirs, nothing is rotated */
    public LogRotation(LogTurns turns) {
        this.turns = turns;
    }

    /**
     * Rotates the log if it is larger than its share. If it grows between calls, the next one makes up for that.
     *
     * @param maxTotalBytes the log and its copies together; the copies alone never take more than {@code keep/(keep+1)} of it
     * @param keep the maximum number of copies, at least 1
     * @return how many bytes of its beginning were given up rather than moved into the newest copy; empty when it was not rotated
     * @throws ActuationFailure when the file may not be touched, or the file system refuses
     */
    public OptionalLong rotate(Path log, long maxTotalBytes, int keep) throws ActuationFailure {
        if (keep < 1 || maxTotalBytes < keep + 1) {
            throw new IllegalArgumentException(
                    "no room for a log and " + keep + " copies in " + maxTotalBytes + " bytes");
        }
        long part = maxTotalBytes / (keep + 1);
        try (LogTurns.Turn _ = turns.take(log)) {
            BasicFileAttributes seen = Files.readAttributes(log, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            if (seen.isRegularFile() && seen.size() <= part) {
                return OptionalLong.empty();
            }
            try (PinnedFile descriptor = PinnedFile.of(log)) {
                PinnedFile.Facts facts = check(log, descriptor);
                try (FileChannel live = descriptor.change(log.toString())) {
                    if (live.size() <= part) {
                        return OptionalLong.empty();
                    }
                    return OptionalLong.of(move(live, facts, new Copies(log, keep, maxTotalBytes - part)));
                }
            }
        } catch (NoSuchFileException e) {
            if (log.toString().equals(e.getFile())) {
                return OptionalLong.empty();
            }
            throw failure(log, e);
        } catch (IOException e) {
            throw failure(log, e);
        }
    }

    /** What has been rotated and is kept, oldest first; with the log after it, that is everything there is. */
    public static ImmutableList<Path> copies(Path log) {
        ImmutableList.Builder<Path> copies = ImmutableList.builder();
        for (int number = 1; number <= MOST_COPIES; number++) {
            if (!Files.isRegularFile(copy(log, number), LinkOption.NOFOLLOW_LINKS)) {
                break;
            }
            copies.add(copy(log, number));
        }
        return copies.build().reverse();
    }

    /** What has been rotated last; empty when nothing has. */
    public static Optional<Path> newestCopy(Path log) {
        return Optional.of(copy(log, 1)).filter(copy -> Files.isRegularFile(copy, LinkOption.NOFOLLOW_LINKS));
    }

    /**
     * Tells a copy from every other one of its log, whatever it is called later. Not by its inode alone, which a later copy gets when this
     * one is removed. It changes as long as the rotation goes on: what is written meanwhile is added.
     *
     * @throws NoSuchFileException when it is not there any more
     */
    public static String identity(Path copy) throws IOException {
        Map<String, Object> facts =
                Files.readAttributes(copy, "unix:ino,size,lastModifiedTime", LinkOption.NOFOLLOW_LINKS);
        return facts.get("ino") + "+" + facts.get("size") + "@" + facts.get("lastModifiedTime");
    }

    /**
     * Which part of all that was ever written to its log a copy holds, in bytes. What lies between two copies was given up.
     *
     * @param begin of its first byte
     * @param end behind its last one: where the next copy would begin, or else the log
     */
    public record Extent(long begin, long end) {}

    /** That of a copy; empty while it is being made, and where the file system keeps no extended attributes. */
    public static Optional<Extent> extent(Path copy) throws IOException {
        try (PinnedFile file = PinnedFile.of(copy);
                // The view opens the file each time, and would wait.
                FileChannel content = file.read(copy.toString())) {
            UserDefinedFileAttributeView view =
                    Files.getFileAttributeView(file.path(), UserDefinedFileAttributeView.class);
            if (view == null) {
                return Optional.empty();
            }
            ByteBuffer written = ByteBuffer.allocate(Long.BYTES);
            if (view.read(BEGIN, written) != Long.BYTES) {
                return Optional.empty();
            }
            long begin = written.flip().getLong();
            return Optional.of(new Extent(begin, begin + content.size()));
        } catch (FileSystemException e) {
            // It has none, or is not there any more.
            return Optional.empty();
        }
    }

    private static Path copy(Path log, int number) {
        return log.resolveSibling(log.getFileName() + "." + number);
    }

    private static ActuationFailure failure(Path log, IOException e) {
        return new ActuationFailure("could not rotate the log " + log + ": " + Disk.reason(e), false, e);
    }

    private static PinnedFile.Facts check(Path log, PinnedFile descriptor) throws ActuationFailure, IOException {
        PinnedFile.Facts facts = descriptor.facts();
        int owner = (int) Files.getAttribute(parent(log), "unix:uid");
        String wrong;
        if (facts.basic().isSymbolicLink()) {
            wrong = "it is a symbolic link";
        } else if (!facts.basic().isRegularFile()) {
            wrong = "it is no file";
        } else if (facts.names() != 1) {
            wrong = "it has " + facts.names() + " names";
        } else if (facts.uid() != owner) {
            wrong = "it belongs to user " + facts.uid() + ", its directory to user " + owner;
        } else {
            return facts;
        }
        throw new ActuationFailure(
                FailureCause.Kind.FILE_IN_THE_WAY,
                "did not rotate the log " + log + ": " + wrong + "; remove it, and restart the workload",
                false);
    }

    private static long move(FileChannel live, PinnedFile.Facts facts, Copies copies) throws IOException {
        Path fresh = copies.fresh();
        Files.deleteIfExists(fresh);
        long begin = extent(copies.copy(1)).map(Extent::end).orElse(0L);
        long size = live.size();
        // A quarter is reserved for what is written meanwhile.
        long most = copies.room() - copies.room() / 4;
        long from = size <= most ? 0 : nextLine(live, size - most);
        if (from > 0) {
            // Far behind: what is older than a gap is useless.
            copies.dropAll();
        }
        copies.dropBeyond(copies.room() - (size - from));
        try (PinnedFile descriptor = PinnedFile.create(fresh)) {
            own(descriptor, facts.uid(), facts.gid());
            try (FileChannel copy = FileChannel.open(descriptor.path(), StandardOpenOption.WRITE)) {
                long end = copy(live, from, size, copy);
                copies.add(fresh);
                for (int round = 0; round < CATCHING_UP_ROUNDS; round++) {
                    long grown = Math.min(live.size(), from + copies.room());
                    if (grown <= end) {
                        break;
                    }
                    end = copy(live, end, grown, copy);
                }
            }
            live.truncate(0);
            // Last: who reads on takes it for the sign that the log has been emptied.
            mark(descriptor, begin + from);
        }
        copies.dropBeyond(copies.room());
        return from;
    }

    private static void mark(PinnedFile copy, long begin) throws IOException {
        UserDefinedFileAttributeView view = Files.getFileAttributeView(copy.path(), UserDefinedFileAttributeView.class);
        try {
            if (view != null) {
                int _ = view.write(
                        BEGIN, ByteBuffer.allocate(Long.BYTES).putLong(begin).flip());
            }
        } catch (FileSystemException e) {
            // This file system keeps none, or has no room for it: readers go by what they have read.
        }
    }

    private static void own(PinnedFile file, int uid, int gid) throws IOException {
        PinnedFile.Facts now = file.facts();
        // The group first, because afterwards only root may.
        if (now.gid() != gid) {
            Files.setAttribute(file.path(), "unix:gid", gid);
        }
        if (now.uid() != uid) {
            Files.setAttribute(file.path(), "unix:uid", uid);
        }
    }

    /** Appends a part of the log to the copy and returns where it ended. */
    private static long copy(FileChannel live, long from, long to, FileChannel copy) throws IOException {
        copy.position(copy.size());
        long at = from;
        while (at < to) {
            long copied = live.transferTo(at, to - at, copy);
            if (copied <= 0) {
                // Truncated by somebody else.
                break;
            }
            at += copied;
        }
        return at;
    }

    /** The start of the first whole line at or after a position. */
    private static long nextLine(FileChannel live, long place) throws IOException {
        ByteBuffer ahead = ByteBuffer.allocate(LONGEST_LINE);
        live.read(ahead, place);
        for (int i = 0; i < ahead.position(); i++) {
            if (ahead.get(i) == '\n') {
                return place + i + 1;
            }
        }
        return place;
    }

    private static Path parent(Path log) {
        Path parent = log.toAbsolutePath().getParent();
        if (parent == null) {
            throw new IllegalArgumentException(log + " is no log");
        }
        return parent;
    }

    /** The copies of a log by age, whatever kind of files they are. */
    private record Copies(Path log, int keep, long room) {

        Path fresh() {
            return log.resolveSibling(log.getFileName() + HALF_DONE);
        }

        /** Makes this the newest copy; the others move up by one, up to the first free number. */
        void add(Path fresh) throws IOException {
            int free = 1;
            while (free < keep && exists(free)) {
                free++;
            }
            for (int number = free; number > 1; number--) {
                Files.move(copy(number - 1), copy(number), StandardCopyOption.ATOMIC_MOVE);
            }
            Files.move(fresh, copy(1), StandardCopyOption.ATOMIC_MOVE);
        }

        void dropAll() throws IOException {
            dropBeyond(-1);
        }

        /** Removes the oldest copies until the others fit. */
        void dropBeyond(long bytes) throws IOException {
            long sum = 0;
            for (int number = 1; number <= keep; number++) {
                if (exists(number)) {
                    sum += Files.readAttributes(copy(number), BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                            .size();
                    if (sum > bytes) {
                        Files.deleteIfExists(copy(number));
                    }
                }
            }
        }

        private boolean exists(int number) {
            return Files.exists(copy(number), LinkOption.NOFOLLOW_LINKS);
        }

        private Path copy(int number) {
            return LogRotation.copy(log, number);
        }
    }
}
