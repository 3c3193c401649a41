package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Shows what a workload has written to its standard output and error, as it is. */
final class LogsCommand implements Command {
    private final Workspace workspace;
    private final WorkloadId id;

    LogsCommand(Workspace workspace, WorkloadId id) {
        this.workspace = workspace;
        this.id = id;
    }

    @Override
    public int run() {
        Path file = workspace.layout().log(id);
        // Neither a symlink nor a FIFO: the directory is the workload's own.
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS) && !Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            throw new CommandFailure(
                    file + " is no longer the file that the workload was given; the workload replaced it");
        }
        try (InputStream log = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
            log.transferTo(workspace.console().out());
            return ExitStatus.OK;
        } catch (NoSuchFileException e) {
            return nothing();
        } catch (IOException e) {
            throw new CommandFailure("cannot read " + file + ": " + reason(e), e);
        }
    }

    /** Without the file, which the messages of the file system begin with. */
    static String reason(IOException e) {
        if (e instanceof AccessDeniedException) {
            return "permission denied; run as the user that the state directory belongs to";
        }
        if (e instanceof FileSystemException failed && failed.getReason() != null) {
            return failed.getReason();
        }
        return e.getMessage() == null ? e.toString() : e.getMessage();
    }

    private int nothing() {
        ImmutableSortedSet<WorkloadId> declared = workspace
                .remembered(reader -> reader.declarations().stream()
                        .map(declaration -> declaration.workload().id())
                        .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)))
                .orElse(ImmutableSortedSet.of());
        if (!declared.contains(id)) {
            throw new CommandFailure(id + " has written nothing here; " + Declared.words(declared));
        }
        workspace.console().say(id + " has not been started yet, so it has written nothing");
        return ExitStatus.OK;
    }
}
