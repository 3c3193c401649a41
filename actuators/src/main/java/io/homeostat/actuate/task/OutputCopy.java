package io.homeostat.actuate.task;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.actuate.launch.LogTurns;
import io.homeostat.actuate.task.OutputState.Pending;
import io.homeostat.actuate.task.OutputState.Source;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.observe.process.SparseFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies what a task writes to the end of its workload's log, and gives what has been copied back to the disk. The task never notices: it
 * writes to files, and neither we nor our absence can stop or fail it.
 *
 * <p>A killed agent loses nothing and doubles nothing: before bytes are appended we note which, and where in the log; how long the log has
 * become tells how many arrived. Nobody else may write to the log, and who rotates it takes {@link LogTurns}.
 *
 * <p>May be used by several threads.
 */
public final class OutputCopy {
    private static final Logger LOG = LoggerFactory.getLogger(OutputCopy.class);

    private static final int CHUNK = 256 << 10;
    private static final int LONGEST_LINE = 64 << 10;

    /** No block of a file system is larger. */
    private static final int LARGEST_BLOCK = 64 << 10;

    /** How much one pass copies. */
    private static final long PASS = 4 << 20;

    /** More than this of a source is not kept: the logs of a workload have 50 MiB. */
    static final long BACKLOG = 64 << 20;

    /** Passes in which all that is kept of both sources is copied, with a last one for each that is not full. */
    private static final int MOST_PASSES = (int) (OutputState.SOURCES * BACKLOG / PASS) + OutputState.SOURCES;

    /** Between passes nobody needs one. */
    private static final ByteBuffer NONE = ByteBuffer.allocate(0);

    /** After so many looks at which nothing was new, it is no news that there is nothing. */
    private static final int RESTING = 60;

    /** Who writes a prompt, or a row of dots, wants it to be seen. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final Places files;
    private final LogTurns turns;
    private final OutputSteps steps;
    private final Ticker ticker;

    // All of these only during a turn.
    private ByteBuffer buffer = NONE;
    private final long[] given = new long[OutputState.SOURCES];
    private final Unfinished[] unfinished = {Unfinished.NONE, Unfinished.NONE};
    private boolean toldOfFullDisk;
    private boolean toldOfHoles;

    /** How the sources were when there was nothing to copy from them. */
    private volatile ImmutableList<Look> copiedAll = ImmutableList.of();

    /** How often in a row that was still so. */
    private final AtomicInteger unchanged = new AtomicInteger();

    /**
     * Where everything is. The sources and the state have to be in a directory that the task can't write to.
     *
     * @param out the task's standard output
     * @param err the task's standard error
     * @param state how far they have been copied
     * @param log of the workload
     */
    public record Places(Path out, Path err, Path state, Path log) {
        Path source(int index) {
            return index == 0 ? out : err;
        }
    }

    /** A line without an end, and since when it has been one. */
    private record Unfinished(long position, long since) {
        static final Unfinished NONE = new Unfinished(-1, 0);
    }

    /** What is seen of a source without opening it. */
    private record Look(
            long size, FileTime changed, @Nullable Object file) {}

    /** Bytes to be copied, which are in the buffer. */
    private record Part(long from, int length) {}

    public OutputCopy(Places files, LogTurns turns) {
        this(files, turns, OutputSteps.ofTheKernel(), Ticker.systemTicker());
    }

    OutputCopy(Places files, LogTurns turns, OutputSteps steps, Ticker ticker) {
        this.files = files;
        this.turns = turns;
        this.steps = steps;
        this.ticker = ticker;
    }

    /**
     * Makes empty files for a task to write to, before it starts; what a former start has left is copied first.
     *
     * @throws ActuationFailure when that is not possible
     */
    public void begin() throws ActuationFailure {
        try (LogTurns.Turn _ = turns.take(files.log())) {
            finishInTurn();
            for (int index = 0; index < OutputState.SOURCES; index++) {
                steps.create(files.source(index));
            }
            steps.create(files.state());
            try (FileChannel state = OutputState.open(files.state())
                    .orElseThrow(() -> new NoSuchFileException(files.state().toString()))) {
                OutputState fresh =
                        new OutputState(0, new Source(inode(files.out()), 0), new Source(inode(files.err()), 0), null);
                fresh.write(state, steps);
                fresh.with(0, 0, null).write(state, steps);
            }
        } catch (IOException e) {
            throw failure("could not make the files for the output of a task", files.state(), e);
        }
    }

    /**
     * Copies what is new, up to 4 MiB: whole lines, except for those that are longer than 64 KiB or have not ended for 2 s. Does nothing when
     * there is nothing to copy from. On a full disk nothing is copied, and all stays where it is.
     *
     * @return whether there is more to be copied now
     * @throws ActuationFailure when something is not what it should be, or the file system refuses
     */
    public boolean copy() throws ActuationFailure {
        ImmutableList<Look> looks = looks();
        if (!looks.isEmpty() && looks.equals(copiedAll)) {
            unchanged.incrementAndGet();
            return false;
        }
        unchanged.set(0);
        try (LogTurns.Turn _ = turns.take(files.log())) {
            boolean more = pass(false, PASS);
            toldOfFullDisk = false;
            boolean isAll = !more && unfinished[0].equals(Unfinished.NONE) && unfinished[1].equals(Unfinished.NONE);
            copiedAll = isAll ? looks : ImmutableList.of();
            return more;
        } catch (IOException e) {
            if (Disk.isFull(e)) {
                if (!toldOfFullDisk) {
                    LOG.warn(
                            "the output of a task can't be copied to {}, and waits in {} and {}: the disk is full",
                            files.log(),
                            files.out(),
                            files.err());
                }
                toldOfFullDisk = true;
                return false;
            }
            throw failure("could not copy the output of a task to its log", files.log(), e);
        }
    }

    /** Whether there has been nothing to copy for long, so that it is enough to look less often. */
    public boolean isResting() {
        return unchanged.get() >= RESTING;
    }

    /**
     * Copies all that is left, after the task has ended, and removes what it wrote to. Interrupted or failed, it goes on when it is called
     * again.
     *
     * @throws ActuationFailure when something is left, as on a full disk
     */
    public void finish() throws ActuationFailure {
        try (LogTurns.Turn _ = turns.take(files.log())) {
            finishInTurn();
        } catch (IOException e) {
            throw failure("could not copy the rest of the output of a task to its log", files.log(), e);
        }
    }

    private void finishInTurn() throws IOException {
        // Somebody else may go on writing: a process that the task has let in, or its driver.
        boolean more = true;
        for (int passes = 0; more && passes < MOST_PASSES; passes++) {
            more = pass(true, PASS);
        }
        // The state last: without it nobody knows what the others are.
        for (int index = 0; index < OutputState.SOURCES; index++) {
            steps.delete(files.source(index));
            given[index] = 0;
            unfinished[index] = Unfinished.NONE;
        }
        steps.delete(files.state());
    }

    private ActuationFailure failure(String what, Path file, IOException e) {
        return new ActuationFailure(what + " " + file + ": " + Disk.reason(e), false, e);
    }

    /** Taken before a pass, so that what is written during it is seen by the next. Empty when one can't be looked at. */
    private ImmutableList<Look> looks() {
        ImmutableList.Builder<Look> looks = ImmutableList.builder();
        try {
            for (int index = 0; index < OutputState.SOURCES; index++) {
                BasicFileAttributes facts =
                        Files.readAttributes(files.source(index), BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
                looks.add(new Look(facts.size(), facts.lastModifiedTime(), facts.fileKey()));
            }
            return looks.build();
        } catch (IOException e) {
            // The pass says what there is to say.
            return ImmutableList.of();
        }
    }

    /** @param all also lines without an end */
    private boolean pass(boolean all, long bytes) throws IOException {
        Optional<FileChannel> opened = OutputState.open(files.state());
        if (opened.isEmpty()) {
            return false;
        }
        try (FileChannel state = opened.get();
                OpenSources sources = new OpenSources(files)) {
            if (sources.areNone()) {
                return false;
            }
            buffer = ByteBuffer.allocate(CHUNK);
            OutputState now = caughtUp(state, settled(state, sources), sources);
            long left = bytes;
            boolean any = true;
            while (any && left > 0) {
                any = false;
                for (int index = 0; index < OutputState.SOURCES && left > 0; index++) {
                    SparseFile source = sources.get(index, now);
                    Part part = source == null
                            ? null
                            : next(source, index, now.source(index).copied(), all);
                    if (source != null && part != null) {
                        now = append(state, now, index, part);
                        giveBack(source, index, now.source(index).copied());
                        any = true;
                        left -= part.length();
                    }
                }
            }
            return any;
        } finally {
            buffer = NONE;
        }
    }

    /** Without what is so far behind that a log would not keep it: a task that writes faster than we copy must not fill the disk. */
    private OutputState caughtUp(FileChannel state, OutputState settled, OpenSources sources) throws IOException {
        OutputState now = settled;
        for (int index = 0; index < OutputState.SOURCES; index++) {
            SparseFile source = sources.get(index, now);
            long copied = now.source(index).copied();
            if (source != null && source.size() - copied > BACKLOG) {
                long next = source.size() - BACKLOG;
                LOG.warn(
                        "{} grows faster than it can be copied; {} bytes of it were given up",
                        files.source(index),
                        next - copied);
                now = now.with(index, next, null);
                now.write(state, steps);
                giveBack(source, index, next);
            }
        }
        return now;
    }

    /** The state with nothing pending: of what was, some, all or nothing is in the log. */
    private OutputState settled(FileChannel state, OpenSources sources) throws IOException {
        Optional<OutputState> read = OutputState.read(state);
        OutputState now = read.orElseGet(() -> new OutputState(0, sources.found(0), sources.found(1), null));
        Pending pending = now.pending();
        if (read.isEmpty()) {
            // What is a hole has been copied; the first block of the rest may be copied twice.
            LOG.warn("{} is damaged: some output of a task may be in {} twice", files.state(), files.log());
        }
        if (pending != null) {
            long copied = now.source(pending.source()).copied() + arrived(now, pending, sources);
            now = now.with(pending.source(), copied, null);
            now.write(state, steps);
        }
        return now;
    }

    private long arrived(OutputState state, Pending pending, OpenSources sources) throws IOException {
        try (PinnedFile log = PinnedFile.of(files.log())) {
            long size = log.facts().basic().size();
            if ((long) Files.getAttribute(log.path(), "unix:ino") == pending.log()) {
                long position = base() + size;
                if (position < pending.position()) {
                    // Rotated, where copies can't have a note on where they begin.
                    position = LogRotation.newestCopy(files.log()).isEmpty()
                            ? 0
                            : Files.size(LogRotation.newestCopy(files.log()).get());
                }
                return Math.clamp(position - pending.position(), 0, pending.length());
            }
        } catch (NoSuchFileException e) {
            LOG.debug("{} was removed", files.log());
        }
        // Somebody took the log away. What was given back had been in it.
        SparseFile source = sources.get(pending.source(), state);
        long from = state.source(pending.source()).copied();
        boolean isGivenBack = source != null && source.nextData(from) >= from + pending.length();
        return isGivenBack ? pending.length() : 0;
    }

    /** How much was ever written before what the log has now. */
    private long base() throws IOException {
        Optional<Path> copy = LogRotation.newestCopy(files.log());
        return copy.isEmpty()
                ? 0
                : LogRotation.extent(copy.get()).map(LogRotation.Extent::end).orElse(0L);
    }

    private OutputState append(FileChannel state, OutputState now, int index, Part part) throws IOException {
        try (PinnedFile pinned = log();
                FileChannel log = pinned.change(files.log().toString())) {
            long size = log.size();
            Pending pending = new Pending(
                    index, part.length(), (long) Files.getAttribute(pinned.path(), "unix:ino"), base() + size);
            OutputState begun = now.with(index, part.from(), pending);
            begun.write(state, steps);
            try {
                steps.write(log, buffer.slice(0, part.length()), size);
            } catch (IOException e) {
                // So that no line is torn for long, and nothing is pending when the log is rotated.
                steps.truncate(log, size);
                begun.with(index, part.from(), null).write(state, steps);
                throw e;
            }
            OutputState done = begun.with(index, part.from() + part.length(), null);
            done.write(state, steps);
            return done;
        }
    }

    private PinnedFile log() throws IOException {
        PinnedFile pinned;
        try {
            pinned = PinnedFile.of(files.log());
        } catch (NoSuchFileException e) {
            Path directory = files.log().toAbsolutePath().getParent();
            if (directory != null) {
                SecureDirectories.create(directory, SecureDirectories.OURS);
            }
            return PinnedFile.create(files.log());
        }
        PinnedFile.Facts facts = pinned.facts();
        if (!facts.basic().isRegularFile() || facts.names() != 1) {
            pinned.close();
            throw new FileSystemException(
                    files.log().toString(),
                    null,
                    facts.basic().isRegularFile() ? "it has several names; remove it" : "it is no file; remove it");
        }
        return pinned;
    }

    private void giveBack(SparseFile source, int index, long copied) {
        try {
            // The block in which the last hole ended is not empty before all of it is in one.
            long from = Math.min(given[index], copied - 1) / LARGEST_BLOCK * LARGEST_BLOCK;
            steps.punch(source, from, copied);
            given[index] = copied;
        } catch (IOException e) {
            if (!toldOfHoles) {
                LOG.warn("what a task has written takes up space until it ends: {}", e.getMessage());
            }
            toldOfHoles = true;
        }
    }

    /** What is to be copied next, without what was never written; null when there is nothing. It is in the buffer then. */
    private @Nullable Part next(SparseFile source, int index, long copied, boolean all) throws IOException {
        // The task has truncated it; where it goes on is seen.
        long from = source.size() < copied ? 0 : copied;
        while (true) {
            long data = source.nextData(from);
            if (data < 0) {
                return null;
            }
            long hole = source.endOfData(data);
            long end = Math.min(hole, data + CHUNK);
            read(source, data, (int) (end - data));
            if (buffer.position() == 0) {
                return null;
            }
            // A block that is partly in a hole has NULs there.
            if (end == hole && hole < source.size()) {
                buffer.position(buffer.position() - trailingNulls());
            }
            int skipped = data == copied ? 0 : leadingNulls();
            if (buffer.position() > skipped) {
                return part(source, index, data, skipped, all);
            }
            from = end;
        }
    }

    private void read(SparseFile source, long from, int length) throws IOException {
        buffer.clear().limit(length);
        while (buffer.hasRemaining() && source.read(buffer, from + buffer.position()) > 0) {
            // Until it is full, or the task has truncated the file.
        }
    }

    private int leadingNulls() {
        int most = Math.min(buffer.position(), LARGEST_BLOCK);
        int count = 0;
        while (count < most && buffer.get(count) == 0) {
            count++;
        }
        return count;
    }

    private int trailingNulls() {
        int most = Math.min(buffer.position(), LARGEST_BLOCK);
        int count = 0;
        while (count < most && buffer.get(buffer.position() - 1 - count) == 0) {
            count++;
        }
        return count;
    }

    private @Nullable Part part(SparseFile source, int index, long data, int skipped, boolean all) throws IOException {
        int length = buffer.position() - skipped;
        long from = data + skipped;
        if (!all) {
            int lines = wholeLines(skipped);
            boolean isLast = data + buffer.position() >= source.size();
            if (lines == 0 && length < LONGEST_LINE && isLast && !hasWaited(index, from)) {
                return null;
            }
            length = lines == 0 ? length : lines;
        }
        unfinished[index] = Unfinished.NONE;
        if (skipped > 0) {
            buffer.position(skipped).limit(skipped + length);
            buffer.compact();
        }
        return new Part(from, length);
    }

    private int wholeLines(int skipped) {
        for (int i = buffer.position() - 1; i >= skipped; i--) {
            if (buffer.get(i) == '\n') {
                return i + 1 - skipped;
            }
        }
        return 0;
    }

    private boolean hasWaited(int index, long from) {
        Unfinished before = unfinished[index];
        if (before.position() != from) {
            unfinished[index] = new Unfinished(from, ticker.read());
            return false;
        }
        return ticker.read() - before.since() >= PATIENCE.toNanos();
    }

    private static long inode(Path file) throws IOException {
        try (SparseFile open = SparseFile.open(file)) {
            return open.inode();
        }
    }

    /** What the task writes to, as far as it is there. */
    private static final class OpenSources implements AutoCloseable {
        private final Places files;
        private final @Nullable SparseFile[] open = new @Nullable SparseFile[OutputState.SOURCES];

        OpenSources(Places files) throws IOException {
            this.files = files;
            try {
                for (int index = 0; index < open.length; index++) {
                    open[index] = openIfThere(files.source(index));
                }
            } catch (IOException e) {
                close();
                throw e;
            }
        }

        private static @Nullable SparseFile openIfThere(Path file) throws IOException {
            try {
                return SparseFile.open(file);
            } catch (NoSuchFileException e) {
                return null;
            }
        }

        boolean areNone() {
            return open[0] == null && open[1] == null;
        }

        /** As if nothing had been copied of it. */
        Source found(int index) {
            SparseFile file = open[index];
            return new Source(file == null ? 0 : file.inode(), 0);
        }

        /** Null when it has been removed. */
        @Nullable
        SparseFile get(int index, OutputState state) throws IOException {
            SparseFile file = open[index];
            if (file != null && file.inode() != state.source(index).inode()) {
                throw new FileSystemException(
                        files.source(index).toString(),
                        null,
                        "it is not the file that was made for the task; remove it");
            }
            return file;
        }

        @Override
        public void close() throws IOException {
            for (SparseFile each : open) {
                if (each != null) {
                    each.close();
                }
            }
        }
    }
}
