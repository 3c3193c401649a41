package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.reconcile.command.LogFile.Place;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.logs.LogTimes;
import io.homeostat.reconcile.logs.LogTimes.Span;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.OptionalInt;

/** Reads a file that a workload writes to, after those that rotation has moved away: right after that, they are all there is. */
final class LogReader implements AutoCloseable {
    /** @param time by which it had been written, wholly */
    record Line(Instant time, String text) {}

    /** A log that is rotated at each look must not keep us for ever. */
    private static final int MOST_LOOKS = 10;

    /** Of what comes after the beginning, so much may be read: who writes on must not keep us for ever. */
    private static final long MOST_MORE = 1 << 20;

    private final Path path;
    private final LogTimes times;
    private final Runnable opened;
    private final LogFile current;

    /** What is still to be read of what was there at the beginning, oldest first; of what comes later everything is read. */
    private final Deque<LogFile> files = new ArrayDeque<>();

    private final Deque<Line> lines = new ArrayDeque<>();
    private final LogLineStream splitter = new LogLineStream(text -> lines.add(new Line(now(), text)));
    private Instant time = Instant.EPOCH;
    private boolean isFollowing;

    /** How much of the current file is still read. */
    private long unread;

    LogReader(Path path, LogTimes times) {
        this(path, times, () -> {});
    }

    /** @param opened called when all files have been opened, and others may do anything before that is known to be all */
    LogReader(Path path, LogTimes times, Runnable opened) {
        this.path = path;
        this.times = times;
        this.opened = opened;
        this.current = new LogFile(path);
    }

    Path path() {
        return path;
    }

    private Instant now() {
        return time;
    }

    /**
     * Finds where to begin; false when there is nothing at all.
     *
     * @param tail only so many lines, the last
     * @throws CommandFailure when it can't be read
     */
    boolean begin(Instant since, OptionalInt tail) {
        try {
            return found(since, tail);
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    private CommandFailure unreadable(IOException e) {
        return new CommandFailure("cannot read " + path + ": " + CommandFailure.reason(e), e);
    }

    private boolean found(Instant since, OptionalInt tail) throws IOException {
        List<LogFile> all = opened();
        boolean any = all.size() > 1 || current.place() != null;
        if (!since.equals(Instant.EPOCH)) {
            skipTo(since, all);
        }
        long left = tail.orElse(Integer.MAX_VALUE);
        boolean last = true;
        for (LogFile file : all.reversed()) {
            if (tail.isPresent() && (left > 0 || file.equals(current))) {
                Place begun = file.place();
                left = file.skipToLast(left, last);
                file.notBefore(begun == null ? 0 : begun.position());
                last &= begun == null || begun.size() == 0;
            } else if (tail.isPresent()) {
                file.close();
                continue;
            }
            files.addFirst(file);
        }
        Place begun = current.place();
        unread = MOST_MORE + (begun == null ? 0 : begun.size() - begun.position());
        return any;
    }

    /**
     * All that there is, opened, oldest first: however long it takes to read it, what rotation moves or drops meanwhile is read once and in
     * order.
     */
    private List<LogFile> opened() throws IOException {
        List<LogFile> all = new ArrayList<>();
        for (int look = 0; look < MOST_LOOKS; look++) {
            ImmutableList<String> before = copies();
            for (LogFile earlier : all) {
                earlier.close();
            }
            all.clear();
            for (Path copy : LogRotation.copies(path)) {
                LogFile file = LogFile.ofCopy(copy);
                if (file.place() != null) {
                    all.add(file);
                }
            }
            current.close();
            current.place();
            all.add(current);
            opened.run();
            if (copies().equals(before)) {
                break;
            }
        }
        return all;
    }

    private ImmutableList<String> copies() throws IOException {
        ImmutableList.Builder<String> identities = ImmutableList.builder();
        for (Path copy : LogRotation.copies(path)) {
            try {
                identities.add(LogRotation.identity(copy));
            } catch (NoSuchFileException e) {
                // Moved since, which the next look tells.
                identities.add("");
            }
        }
        return identities.build();
    }

    /** Leaves out files, and the beginning of one, that were written before. */
    private void skipTo(Instant since, List<LogFile> all) throws IOException {
        while (!all.isEmpty()) {
            LogFile oldest = all.getFirst();
            Place place = oldest.place();
            long beginning = place == null ? 0 : LogTimes.beginning(times.spans(place.file(), place.changed()), since);
            if (place != null && beginning < place.size()) {
                oldest.skipTo(beginning);
                return;
            }
            if (oldest.equals(current)) {
                oldest.skipToEnd();
                return;
            }
            oldest.close();
            all.removeFirst();
        }
    }

    /**
     * Copies what there is, byte for byte.
     *
     * @throws CommandFailure when it can't be read
     */
    void copyTo(OutputStream out) {
        try {
            while (!files.isEmpty()) {
                LogFile file = files.removeFirst();
                var _ = file.copyTo(out, file.equals(current) ? unread : Long.MAX_VALUE);
                done(file);
            }
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    /**
     * Whether there is another line.
     *
     * @throws CommandFailure when it can't be read
     */
    boolean hasNext(boolean mayGoOn) {
        try {
            return isNext(mayGoOn);
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    private boolean isNext(boolean mayGoOn) throws IOException {
        while (lines.isEmpty() && !files.isEmpty()) {
            LogFile file = files.getFirst();
            Place place = file.place();
            boolean isRead = file.equals(current) && unread <= 0;
            if (place == null
                    || isRead
                    || file.copyTo(new Timed(place, file.equals(current)), 1) != LogFile.Copied.ENOUGH) {
                done(files.removeFirst());
                if (files.isEmpty() && !mayGoOn) {
                    splitter.flush();
                }
            }
        }
        return !lines.isEmpty();
    }

    private void done(LogFile file) throws IOException {
        if (!file.equals(current)) {
            file.close();
        }
    }

    /** The line that was found last. */
    Line next() {
        return lines.getFirst();
    }

    Line take() {
        return lines.removeFirst();
    }

    /** See {@link LogFile#givenUp}. */
    long givenUp() {
        return current.givenUp();
    }

    /** With what has been written since. */
    void goOn() {
        isFollowing = true;
        unread = Long.MAX_VALUE;
        files.add(current);
    }

    /** Takes lines apart, and gives them the times of the places where they end. */
    private final class Timed extends OutputStream {
        private final ImmutableList<Span> spans;
        private final boolean isCurrent;
        private long position;

        Timed(Place place, boolean isCurrent) {
            this.isCurrent = isCurrent;
            this.position = place.position();
            // What comes later is read soon after it is written.
            this.spans = isFollowing
                    ? LogTimes.NONE.spans(place.file(), place.changed())
                    : times.spans(place.file(), place.changed());
        }

        @Override
        public void write(int b) {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            unread -= isCurrent ? length : 0;
            int at = offset;
            for (Span span : spans) {
                int piece = (int) Math.min(span.end() - position, offset + length - at);
                if (piece > 0) {
                    time = span.time();
                    splitter.write(bytes, at, piece);
                    at += piece;
                    position += piece;
                }
            }
        }
    }

    @Override
    public void close() {
        try {
            for (LogFile file : files) {
                file.close();
            }
            current.close();
        } catch (IOException e) {
            throw new UncheckedIOException("closing what was only read", e);
        }
    }
}
