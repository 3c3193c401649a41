package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.LogsRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Text;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Shows what a workload has written to its standard output and error, then its log of errors if it has one, and with {@code follow} goes on until interrupted. */
public record LogsCommand(WorkloadId workload, boolean follow) implements Command {
    private static final Duration PAUSE = Duration.ofMillis(250);

    public static LogsCommand of(LogsRequest request) {
        return new LogsCommand(RequestFields.workload(request.getWorkload()), request.getFollow());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setLogs(
                LogsRequest.newBuilder().setWorkload(workload.toString()).setFollow(follow));
    }

    @Override
    public boolean goesOn() {
        return follow;
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Console console = workspace.console();
        Path path = workspace.layout().log(workload);
        String errorLog = workload.kind().errorLog();
        try (LogFile log = new LogFile(path);
                LogFile errors = errorLog == null ? null : new LogFile(path.resolveSibling(errorLog))) {
            boolean any = log.copyAllTo(console.out());
            if (errors != null) {
                any |= errors.copyAllTo(console.out());
            }
            if (!any) {
                nothing(workspace);
            }
            while (follow && console.isRead()) {
                Thread.sleep(PAUSE);
                log.copyTo(console.out());
                if (errors != null) {
                    errors.copyTo(console.out());
                }
            }
            return ExitStatus.OK;
        } catch (IOException e) {
            throw new CommandFailure("cannot read " + path + ": " + CommandFailure.reason(e), e);
        }
    }

    private void nothing(Workspace workspace) {
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
    static final class LogFile implements AutoCloseable {
        private static final int BUFFER = 64 * 1024;

        private final Path path;
        private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER);
        private @Nullable SeekableByteChannel channel;
        private @Nullable Object key;

        LogFile(Path path) {
            this.path = path;
        }

        /** Copies what rotation has moved away, which right after it is all there is, and what is there; false when nothing is. */
        boolean copyAllTo(OutputStream out) throws IOException {
            boolean any = false;
            for (Path older : LogRotation.copies(path)) {
                try (LogFile log = new LogFile(older)) {
                    any |= log.copyTo(out);
                }
            }
            return copyTo(out) || any;
        }

        /**
         * Copies what was written since the last call; false when the file is not there.
         *
         * @throws CommandFailure when it is no file any more; its directory is the workload's own
         */
        boolean copyTo(OutputStream out) throws IOException {
            BasicFileAttributes there = attributes();
            if (channel != null && (there == null || !there.fileKey().equals(key))) {
                copy(channel, out);
                close();
            }
            if (channel == null && there != null) {
                open();
            }
            if (channel != null) {
                if (channel.size() < channel.position()) {
                    channel.position(0);
                }
                copy(channel, out);
            }
            return channel != null;
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

        private void copy(SeekableByteChannel from, OutputStream out) throws IOException {
            buffer.clear();
            while (from.read(buffer) > 0) {
                out.write(buffer.array(), 0, buffer.position());
                buffer.clear();
            }
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
