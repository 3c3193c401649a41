package io.homeostat.reconcile.command;

import com.google.common.base.Strings;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.LogsRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Shows what workloads have written to their standard output and error, then their logs of errors if they have one, and with {@code follow} goes on until interrupted. Of one it is
 * shown byte for byte; of several, and in JSON, line by line.
 *
 * @param tail only so many lines of each, the last, of what has been written already
 */
public record LogsCommand(ImmutableList<WorkloadId> workloads, OptionalInt tail, boolean follow) implements Command {
    private static final Duration PAUSE = Duration.ofMillis(250);

    public static LogsCommand of(LogsRequest request) {
        return new LogsCommand(
                Stream.concat(Stream.of(request.getWorkload()), request.getOthersList().stream())
                        .map(RequestFields::workload)
                        .collect(ImmutableList.toImmutableList()),
                RequestFields.count("tail", request.hasTail(), request.getTail()),
                request.getFollow());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        ImmutableList<String> words = RequestFields.words(workloads);
        LogsRequest.Builder logs = LogsRequest.newBuilder()
                .setWorkload(words.getFirst())
                .addAllOthers(words.subList(1, words.size()))
                .setFollow(follow);
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
        int width =
                workloads.stream().mapToInt(id -> id.toString().length()).max().orElse(0);
        List<Log> logs = new ArrayList<>();
        try {
            for (WorkloadId id : ImmutableSet.copyOf(workloads)) {
                boolean any = false;
                for (Path path : files(id, workspace.layout())) {
                    Log log = new Log(path, sink(id, width, console));
                    logs.add(log);
                    any |= log.begin(tail);
                }
                if (!any) {
                    nothing(workspace, id);
                }
            }
            while (follow && console.isRead()) {
                Thread.sleep(PAUSE);
                for (Log log : logs) {
                    log.goOn();
                }
            }
            return ExitStatus.OK;
        } catch (IOException e) {
            throw new CommandFailure("cannot read " + logs.getLast().path() + ": " + CommandFailure.reason(e), e);
        } finally {
            logs.forEach(Log::close);
        }
    }

    /** What it writes to its standard output and error, then its log of errors if it has one. */
    public static ImmutableList<Path> files(WorkloadId id, Layout layout) {
        Path log = layout.log(id);
        String errors = id.kind().errorLog();
        return errors == null ? ImmutableList.of(log) : ImmutableList.of(log, log.resolveSibling(errors));
    }

    private OutputStream sink(WorkloadId id, int width, Console console) {
        if (console.json()) {
            return new LogLineStream(line -> Json.print(
                    console.out(),
                    Json.versioned().put("workload", id.toString()).put("line", line)));
        }
        return workloads.size() == 1
                ? console.out()
                : new LogLineStream(line -> {
                    console.out().println(Strings.padEnd(id.toString(), width, ' ') + " | " + line);
                    console.out().flush();
                });
    }

    /** A file that a workload writes to, and those that rotation has moved away. Right after that, they are all there is. */
    private static final class Log {
        private final Path path;
        private final LogFile current;
        private final OutputStream out;

        Log(Path path, OutputStream out) {
            this.path = path;
            this.current = new LogFile(path);
            this.out = out;
        }

        Path path() {
            return path;
        }

        /** Copies what is there already; false when there is nothing. */
        boolean begin(OptionalInt tail) throws IOException {
            List<LogFile> files = new ArrayList<>();
            LogRotation.copies(path).forEach(older -> files.add(new LogFile(older)));
            try {
                files.add(current);
                if (tail.isPresent()) {
                    long left = tail.getAsInt();
                    for (LogFile file : files.reversed()) {
                        left -= file.skipToLast(left);
                    }
                }
                boolean any = false;
                for (LogFile file : files) {
                    any |= file.copyTo(out);
                }
                return any;
            } finally {
                for (LogFile file : files) {
                    if (!file.equals(current)) {
                        file.close();
                    }
                }
            }
        }

        void goOn() throws IOException {
            current.copyTo(out);
        }

        void close() {
            try {
                out.flush();
                current.close();
            } catch (IOException e) {
                throw new UncheckedIOException("closing what was only read", e);
            }
        }
    }

    private static void nothing(Workspace workspace, WorkloadId workload) {
        ImmutableSortedSet<WorkloadId> declared = workspace
                .remembered(reader -> reader.declarations().stream()
                        .map(declaration -> declaration.workload().id())
                        .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)))
                .orElse(ImmutableSortedSet.of());
        if (!declared.contains(workload)) {
            throw new CommandFailure(workload + " has written nothing here; " + Text.declared(declared));
        }
        workspace.console().say(workload + " has not been started yet, so it has written nothing");
    }

    /**
     * A log that is read from its beginning, then on from where it was left. A file that takes its place is read after it; one that
     * became shorter, because it was rotated, is read from its beginning again.
     */
    public static final class LogFile implements AutoCloseable {
        private static final int BUFFER = 64 * 1024;

        private final Path path;
        private @Nullable SeekableByteChannel channel;
        private @Nullable Object key;

        public LogFile(Path path) {
            this.path = path;
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
            BasicFileAttributes there = attributes();
            long left = most;
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
                if (channel.size() < channel.position()) {
                    channel.position(0);
                }
                left -= copy(channel, out, left);
            }
            return left <= 0;
        }

        /** Leaves out all but the last lines of what is there; returns how many these are. The last one may not have ended yet. */
        public long skipToLast(long lines) throws IOException {
            if (attributes() != null) {
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
            ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
            long found = 0;
            // Backwards, a buffer at a time; the line end at the very end begins no line.
            for (long at = end; at > 0; ) {
                int length = (int) Math.min(BUFFER, at);
                at -= length;
                channel.position(at);
                buffer.clear().limit(length);
                while (buffer.hasRemaining() && channel.read(buffer) >= 0) {
                    // Until the buffer is full.
                }
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
            try {
                opened = Files.newByteChannel(path, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
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
            if (channel != null) {
                channel.close();
                channel = null;
                key = null;
            }
        }
    }
}
