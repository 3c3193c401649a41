package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Declared;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.time.Duration;

/** Shows what a workload has written to its standard output and error, as it is. */
public final class LogsCommand implements Command {
    private static final Duration PAUSE = Duration.ofMillis(250);

    private final Workspace workspace;
    private final WorkloadId id;
    private final boolean follow;

    /** @param follow goes on with what is written from now on, until interrupted */
    LogsCommand(Workspace workspace, WorkloadId id, boolean follow) {
        this.workspace = workspace;
        this.id = id;
        this.follow = follow;
    }

    @Override
    public int run() throws InterruptedException {
        Console console = workspace.console();
        Path path = workspace.layout().log(id);
        try (LogFile log = new LogFile(path)) {
            boolean older = copyOlder(path, console.out());
            if (!log.copyTo(console.out()) && !older) {
                nothing();
            }
            while (follow && console.isRead()) {
                Thread.sleep(PAUSE);
                log.copyTo(console.out());
            }
            return ExitStatus.OK;
        } catch (IOException e) {
            throw new CommandFailure("cannot read " + path + ": " + reason(e), e);
        }
    }

    /** What rotation has moved away: right after it, that is all there is. */
    private static boolean copyOlder(Path path, OutputStream out) throws IOException {
        boolean any = false;
        for (Path older : LogRotation.copies(path)) {
            try (LogFile log = new LogFile(older)) {
                any |= log.copyTo(out);
            }
        }
        return any;
    }

    /** Without the file, which the messages of the file system begin with. */
    public static String reason(IOException e) {
        if (e instanceof AccessDeniedException) {
            return "permission denied; run as the user that the state directory belongs to";
        }
        if (e instanceof FileSystemException failed && failed.getReason() != null) {
            return failed.getReason();
        }
        return e.getMessage() == null ? e.toString() : e.getMessage();
    }

    private void nothing() {
        ImmutableSortedSet<WorkloadId> declared = workspace
                .remembered(reader -> reader.declarations().stream()
                        .map(declaration -> declaration.workload().id())
                        .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)))
                .orElse(ImmutableSortedSet.of());
        if (!declared.contains(id)) {
            throw new CommandFailure(id + " has written nothing here; " + Declared.words(declared));
        }
        workspace.console().say(id + " has not been started yet, so it has written nothing");
    }
}
