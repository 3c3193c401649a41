package io.homeostat.reconcile.command;

import com.google.common.base.Strings;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.LogsRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.logs.LogTimes;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Shows what workloads have written to their standard output and error, and to their logs of errors if they have one, and with {@code follow}
 * goes on until interrupted. Of one it is shown byte for byte, one file after the other; of several, with times, and in JSON, line by line in
 * order of time.
 *
 * @param since only lines that may have been written then or later, of what has been written already; {@link Instant#EPOCH}: whenever it was
 * @param tail only so many lines of each log, the last, of what has been written already
 * @param timestamps whether each line begins with the time by which it had been written; in JSON it always has one
 */
public record LogsCommand(Selection selection, Instant since, OptionalInt tail, boolean timestamps, boolean follow)
        implements Command {
    private static final Duration PAUSE = Duration.ofMillis(250);

    private static final String NOT_STARTED = "has not been started yet, so it has written nothing";

    /** RFC 3339, of one width. */
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSX", Locale.ROOT)
            .withZone(ZoneOffset.UTC);

    public static LogsCommand of(LogsRequest request) {
        Stream<String> first = request.getWorkload().isEmpty() ? Stream.empty() : Stream.of(request.getWorkload());
        return new LogsCommand(
                new Selection(
                        Stream.concat(first, request.getOthersList().stream())
                                .map(RequestFields::workload)
                                .collect(ImmutableList.toImmutableList()),
                        ImmutableMap.copyOf(request.getLabelsMap()),
                        request.getAll()),
                Instant.ofEpochMilli(request.getSinceEpochMillis()),
                RequestFields.count("tail", request.hasTail(), request.getTail()),
                request.getTimestamps(),
                request.getFollow());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        LogsRequest.Builder logs = LogsRequest.newBuilder()
                .putAllLabels(selection.labels())
                .setAll(selection.all())
                .setSinceEpochMillis(since.toEpochMilli())
                .setTimestamps(timestamps)
                .setFollow(follow);
        ImmutableList<String> words = RequestFields.words(selection.names());
        if (!words.isEmpty()) {
            logs.setWorkload(words.getFirst()).addAllOthers(words.subList(1, words.size()));
        }
        tail.ifPresent(logs::setTail);
        request.setLogs(logs);
    }

    @Override
    public boolean goesOn() {
        return follow;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Console console = workspace.console();
        ImmutableSet<WorkloadId> workloads = workloads(workspace);
        if (workloads.isEmpty()) {
            return selection.nothing("is declared", workspace);
        }
        boolean bytes = !console.json() && !timestamps && !isMarked();
        List<Source> sources = new ArrayList<>();
        ImmutableSortedSet<WorkloadId> declared = declared(workspace);
        ImmutableSet.Builder<WorkloadId> unknown = ImmutableSet.builder();
        boolean mattersWhen = (timestamps || !since.equals(Instant.EPOCH))
                && workspace.enforcer().agent().isEmpty();
        try {
            for (WorkloadId id : workloads) {
                boolean any = false;
                for (Path path : files(id, workspace.layout())) {
                    LogTimes times =
                            LogTimes.of(path, workspace.layout().logTimes(id).resolve(path.getFileName()));
                    Source source = new Source(id, sources.size(), new LogReader(path, times));
                    sources.add(source);
                    any |= source.log().begin(since, tail);
                    if (times.isEmpty() && mattersWhen && path.toFile().length() > 0) {
                        console.say("nobody noted when the lines of " + path
                                + " were written, as an agent does; they count as written when it was last changed");
                    }
                }
                if (!any && (declared.contains(id) || selection.isOpen())) {
                    console.say(id + " "
                            + workspace.remembered(reader -> fate(reader, id)).orElse(NOT_STARTED));
                } else if (!any) {
                    unknown.add(id);
                }
            }
            ImmutableSet<WorkloadId> missing = unknown.build();
            if (!missing.isEmpty()) {
                String why = words(missing) + " not declared; " + Text.declared(declared);
                if (missing.size() == workloads.size()) {
                    throw new CommandFailure(why);
                }
                console.failPart(workspace.word(), why);
            }
            do {
                if (bytes) {
                    for (Source source : sources) {
                        source.log().copyTo(console.out());
                    }
                } else {
                    print(sources, workloads, console);
                }
                if (!follow || !console.isRead()) {
                    break;
                }
                Thread.sleep(PAUSE);
                for (Source source : sources) {
                    source.log().goOn();
                }
            } while (true);
            return missing.isEmpty() ? ExitStatus.OK : ExitStatus.FAILED;
        } finally {
            sources.forEach(source -> source.log().close());
        }
    }

    /** Whether each line has to say of whom it is. */
    private boolean isMarked() {
        return selection.isOpen() || selection.names().size() > 1;
    }

    /** Who is declared later is not among them. */
    private ImmutableSet<WorkloadId> workloads(Workspace workspace) {
        if (!selection.isOpen()) {
            return ImmutableSet.copyOf(selection.names());
        }
        return workspace
                .remembered(reader -> ImmutableSet.copyOf(
                        selection.among(StoredState.desired(reader.declarations()), workload -> true)))
                .orElse(ImmutableSet.of());
    }

    /** A log of a workload. */
    private record Source(WorkloadId id, int order, LogReader log) {
        Instant time() {
            return log.next().time();
        }
    }

    /** What there is of all of them, in order of time; the lines of each stay in their order even where the clock was set back. */
    private void print(List<Source> sources, Set<WorkloadId> workloads, Console console) {
        int width =
                workloads.stream().mapToInt(id -> id.toString().length()).max().orElse(0);
        PriorityQueue<Source> heads =
                new PriorityQueue<>(Comparator.comparing(Source::time).thenComparingInt(Source::order));
        for (Source source : sources) {
            if (source.log().hasNext(follow)) {
                heads.add(source);
            }
        }
        while (!heads.isEmpty()) {
            Source source = heads.remove();
            print(source.id(), width, source.log().take(), console);
            if (source.log().hasNext(follow)) {
                heads.add(source);
            }
        }
        console.out().flush();
    }

    private void print(WorkloadId id, int width, LogReader.Line line, Console console) {
        if (console.json()) {
            Json.print(
                    console.out(),
                    Json.versioned()
                            .put("workload", id.toString())
                            .put("time", TIME.format(line.time()))
                            .put("line", line.text()));
            return;
        }
        console.out()
                .println((isMarked() ? Strings.padEnd(id.toString(), width, ' ') + " | " : "")
                        + (timestamps ? TIME.format(line.time()) + " " : "")
                        + line.text());
    }

    /** What it writes to its standard output and error, then its log of errors if it has one. */
    public static ImmutableList<Path> files(WorkloadId id, Layout layout) {
        Path log = layout.log(id);
        String errors = id.kind().errorLog();
        return errors == null ? ImmutableList.of(log) : ImmutableList.of(log, log.resolveSibling(errors));
    }

    private static ImmutableSortedSet<WorkloadId> declared(Workspace workspace) {
        return workspace
                .remembered(reader -> reader.declarations().stream()
                        .map(declaration -> declaration.workload().id())
                        .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)))
                .orElse(ImmutableSortedSet.of());
    }

    private static String words(ImmutableSet<WorkloadId> several) {
        return several.stream()
                .map(WorkloadId::toString)
                .collect(Collectors.joining(", ", "", several.size() == 1 ? " is" : " are"));
    }

    /** Why there is no log of what is declared, as the end of a sentence. */
    private static String fate(StateReader reader, WorkloadId workload) {
        Optional<Instant> launched =
                reader.instances(workload).stream().map(Instance::launchedAt).max(Comparator.naturalOrder());
        if (launched.isPresent()) {
            return "was started at " + TIME.format(launched.get()) + " and has written nothing";
        }
        WorkloadHistory history = reader.history(workload);
        Exit exit = history.run().lastExit();
        if (exit != null) {
            return "was started and has written nothing; it " + exit.words() + ", at " + TIME.format(exit.at());
        }
        Failures starts = history.attempts().start();
        return starts.count() > 0 ? "has written nothing; its last start failed: " + starts.error() : NOT_STARTED;
    }

    /**
     * A log that is read from its beginning, then on from where it was left. A file that takes its place is read after it; one that
     * became shorter, because it was rotated, is read from its beginning again.
     */
    public static final class LogFile implements AutoCloseable {
        private static final int BUFFER = 64 * 1024;

        /** As much of what was read last is looked for where it was, in bytes: a line or two. */
        private static final int COMPARED = 256;

        /** No inode has this number. */
        private static final long NONE = 0;

        /** An open file as it is now, and how far it has been read. */
        record Place(long file, long size, long position, Instant changed) {}

        private final Path path;
        private @Nullable SeekableByteChannel channel;
        private @Nullable Object key;
        private Instant changed = Instant.EPOCH;

        /** What was moved into a copy before it was read; null when all of that has been read. */
        private @Nullable SeekableByteChannel rotated;

        /** The end of what was read last, and where that was. */
        private ByteBuffer readLast = ByteBuffer.allocate(0);

        private long readTo;

        /** Tells the copy that was the newest one when the file was last read. */
        private @Nullable String moved;

        public LogFile(Path path) {
            this.path = path;
        }

        /** Opens it; null when it is not there. */
        @Nullable
        Place place() throws IOException {
            if (channel == null) {
                open();
            }
            if (channel == null) {
                return null;
            }
            long file = NONE;
            try {
                file = (long) Files.getAttribute(path, "unix:ino", LinkOption.NOFOLLOW_LINKS);
                changed = Files.getLastModifiedTime(path, LinkOption.NOFOLLOW_LINKS)
                        .toInstant();
            } catch (NoSuchFileException e) {
                // What is open is still there.
            }
            return new Place(file, channel.size(), channel.position(), changed);
        }

        /** Goes on no earlier than there. */
        void notBefore(long position) throws IOException {
            if (channel != null && channel.position() < position) {
                channel.position(position);
            }
        }

        /** Goes on at the beginning of the line that has this offset, unless it has got further already. */
        void skipTo(long offset) throws IOException {
            if (channel == null || offset <= channel.position()) {
                return;
            }
            int length = (int) Math.min(BUFFER, offset);
            long from = offset - length;
            ByteBuffer buffer = read(channel, from, length);
            int line = buffer.position();
            while (line > 0 && buffer.get(line - 1) != '\n') {
                line--;
            }
            channel.position(from + line);
        }

        private static ByteBuffer read(SeekableByteChannel from, long position, int length) throws IOException {
            from.position(position);
            ByteBuffer buffer = ByteBuffer.allocate(length);
            while (buffer.hasRemaining() && from.read(buffer) >= 0) {
                // Until the buffer is full.
            }
            return buffer;
        }

        /**
         * Copies what was written since the last call; false when the file is not there.
         *
         * @throws CommandFailure when it is no file any more; its directory is the workload's own
         */
        public boolean copyTo(OutputStream out) throws IOException {
            copyTo(out, Long.MAX_VALUE);
            return channel != null;
        }

        /**
         * Copies what was written since the last call, about so many bytes of it at most; true when there may be more.
         *
         * @throws CommandFailure when it is no file any more; its directory is the workload's own
         */
        public boolean copyTo(OutputStream out, long most) throws IOException {
            long left = most - copyRotated(out, most);
            if (left <= 0) {
                return true;
            }
            // Before anything is read: a rotation that begins or goes on from now on makes it another one.
            String newest = newestCopy();
            BasicFileAttributes there = attributes();
            if (channel != null && (there == null || !there.fileKey().equals(key))) {
                left -= copy(channel, out, left);
                if (left <= 0) {
                    return true;
                }
                close();
            }
            if (channel == null && there != null) {
                open();
            }
            if (channel != null) {
                boolean emptied = channel.size() < channel.position()
                        || (!Objects.equals(moved, newest) && hasOtherText(channel));
                if (emptied) {
                    openRotated(channel.position());
                    channel.position(0);
                    moved = newest;
                    left -= copyRotated(out, left);
                    if (left <= 0) {
                        return true;
                    }
                }
                left -= copy(channel, out, left);
                moved = newest;
                if (readTo != channel.position()) {
                    readLast = lastOf(channel);
                    readTo = channel.position();
                }
            }
            return left <= 0;
        }

        /** Whether what was read last is no longer there: it was emptied, and has grown as long again. */
        private boolean hasOtherText(SeekableByteChannel live) throws IOException {
            return readTo == live.position() && !readLast.equals(lastOf(live));
        }

        /** The end of what has been read. */
        private static ByteBuffer lastOf(SeekableByteChannel live) throws IOException {
            long end = live.position();
            int length = (int) Math.min(end, COMPARED);
            ByteBuffer last = read(live, end - length, length).flip();
            live.position(end);
            return last;
        }

        /** What was written before a rotation and after the last call is read first: it is in a copy that was not there then. */
        private void openRotated(long position) throws IOException {
            Path copy = LogRotation.newestCopy(path).orElse(null);
            if (copy == null || Objects.equals(moved, newestCopy())) {
                // Somebody else has emptied it.
                return;
            }
            try {
                rotated = PinnedFile.read(copy);
                rotated.position(position);
            } catch (NoSuchFileException e) {
                // It has been dropped already.
            }
        }

        private long copyRotated(OutputStream out, long most) throws IOException {
            if (rotated == null) {
                return 0;
            }
            long copied = copy(rotated, out, most);
            if (rotated.position() >= rotated.size()) {
                rotated.close();
                rotated = null;
            }
            return copied;
        }

        private @Nullable String newestCopy() throws IOException {
            Path copy = LogRotation.newestCopy(path).orElse(null);
            try {
                return copy == null ? null : LogRotation.identity(copy);
            } catch (NoSuchFileException e) {
                return null;
            }
        }

        /** Leaves out all but the last lines of what is there; returns how many these are. The last one may not have ended yet. */
        public long skipToLast(long lines) throws IOException {
            if (channel == null) {
                open();
            }
            if (channel == null) {
                return 0;
            }
            long end = channel.size();
            if (lines == 0 || end == 0) {
                channel.position(end);
                return 0;
            }
            long found = 0;
            // Backwards, a buffer at a time; the line end at the very end begins no line.
            for (long at = end; at > 0; ) {
                int length = (int) Math.min(BUFFER, at);
                at -= length;
                ByteBuffer buffer = read(channel, at, length);
                for (int i = buffer.position() - 1; i >= 0; i--) {
                    if (buffer.get(i) == '\n' && at + i < end - 1) {
                        found++;
                        if (found == lines) {
                            channel.position(at + i + 1);
                            return lines;
                        }
                    }
                }
            }
            channel.position(0);
            return found + 1;
        }

        /** Neither a symlink nor a FIFO is opened. */
        private @Nullable BasicFileAttributes attributes() throws IOException {
            try {
                BasicFileAttributes attributes =
                        Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
                if (!attributes.isRegularFile()) {
                    throw new CommandFailure(
                            path + " is no longer the file that the workload was given; the workload replaced it");
                }
                return attributes;
            } catch (NoSuchFileException e) {
                return null;
            }
        }

        /** Leaves it for the next time when the file is replaced just now: which one was opened would not be known. */
        private void open() throws IOException {
            BasicFileAttributes before = attributes();
            if (before == null) {
                return;
            }
            SeekableByteChannel opened;
            moved = newestCopy();
            try {
                opened = PinnedFile.read(path);
            } catch (NoSuchFileException e) {
                return;
            }
            BasicFileAttributes after = attributes();
            if (after != null && after.fileKey().equals(before.fileKey())) {
                channel = opened;
                key = after.fileKey();
            } else {
                opened.close();
            }
        }

        private long copy(SeekableByteChannel from, OutputStream out, long most) throws IOException {
            if (from.position() >= from.size()) {
                return 0;
            }
            ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
            long copied = 0;
            while (copied < most && from.read(buffer) > 0) {
                out.write(buffer.array(), 0, buffer.position());
                copied += buffer.position();
                buffer.clear();
            }
            return copied;
        }

        @Override
        public void close() throws IOException {
            if (rotated != null) {
                rotated.close();
                rotated = null;
            }
            if (channel != null) {
                channel.close();
                channel = null;
                key = null;
            }
        }
    }
}
