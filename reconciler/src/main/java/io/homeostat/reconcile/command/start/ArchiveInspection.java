package io.homeostat.reconcile.command.start;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.HostileTree;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.archive.ArchiveStore;
import io.homeostat.actuate.fetch.Downloader;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.actuate.unpack.RefusedArchive;
import io.homeostat.actuate.unpack.UnpackLimits;
import io.homeostat.actuate.unpack.Unpacker;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Text;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What is in an archive: it is fetched and unpacked as for an installation, in a directory that is removed again, so that what is refused
 * there is refused here.
 *
 * @param entryPoint the program that was named, or the only one there is
 */
public record ArchiveInspection(String sha256, String entryPoint) {
    private static final Duration TIMEOUT = Duration.ofMinutes(10);
    private static final int ATTEMPTS = 3;
    private static final int SHOWN = 10;
    private static final String REVISION = "1";

    /** It is nobody's: only its name is needed. */
    private static final String ID = "process/archive";

    /**
     * Looks into an archive.
     *
     * @param shown how errors name it
     * @param entryPoint which program is to be executed; null: the only one
     * @param temporary where there is room for it
     * @throws CommandFailure when it can't be had, would be refused, or it is not clear what to execute
     */
    public static ArchiveInspection of(String url, String shown, @Nullable String entryPoint, Path temporary)
            throws InterruptedException {
        Path directory = null;
        try {
            directory = Files.createTempDirectory(temporary, "homeostat-");
            Layout layout = new Layout(directory, directory, "here");
            return of(new Source(url, null, TIMEOUT, ATTEMPTS), shown, entryPoint, layout);
        } catch (IOException e) {
            throw new CommandFailure(
                    "cannot unpack the archive below " + temporary + ": " + CommandFailure.reason(e)
                            + "; TMPDIR names another directory",
                    e);
        } catch (ActuationFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        } finally {
            if (directory != null) {
                remove(directory);
            }
        }
    }

    private static ArchiveInspection of(Source source, String shown, @Nullable String entryPoint, Layout layout)
            throws ActuationFailure, IOException, InterruptedException {
        WorkloadId id = WorkloadId.parse(ID).orElseThrow();
        String key = source.archiveKey(id, REVISION);
        try (Downloader downloader = new Downloader(layout, () -> DownloadLimits.DEFAULT);
                Unpacker unpacker = new Unpacker(layout, () -> UnpackLimits.DEFAULT)) {
            downloader.download(key, source, Progress.NONE);
            String name = Layout.installName(id, REVISION, key);
            try {
                unpacker.unpack(id, key, REVISION, name, entryPoint);
            } catch (ActuationFailure e) {
                throw refused(shown, e);
            }
            return new ArchiveInspection(
                    new ArchiveStore(layout, new LocalDisk()).sha256(key),
                    entryPoint == null ? onlyExecutable(layout.install(id, name)) : entryPoint);
        }
    }

    /** What an installation says of its revision and its cache is not so here. */
    private static CommandFailure refused(String shown, ActuationFailure failure) throws IOException {
        return switch (failure.getCause()) {
            case RefusedArchive refused ->
                new CommandFailure(shown + " would be refused: " + refused.problem(), failure);
            case IOException damage
            when failure.failureCause().kind() == FailureCause.Kind.ARCHIVE ->
                new CommandFailure(shown + " is damaged: " + Disk.reason(damage), failure);
            case IOException disk -> throw disk;
            case null, default -> new CommandFailure(String.valueOf(failure.getMessage()), failure);
        };
    }

    private static String onlyExecutable(Path root) throws IOException {
        ImmutableList<String> executables = executables(root);
        if (executables.isEmpty()) {
            throw new CommandFailure(
                    "no file in the archive is executable, so there is no entry point; pack it anew with the mode of the program set");
        }
        if (executables.size() > 1) {
            throw new CommandFailure("several files in the archive are executable; choose one with --entry-point: "
                    + Text.oneLine(String.join(", ", executables.subList(0, Math.min(SHOWN, executables.size()))))
                    + (executables.size() > SHOWN ? " and " + (executables.size() - SHOWN) + " more" : ""));
        }
        return executables.getFirst();
    }

    private static ImmutableList<String> executables(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(file -> Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS))
                    .filter(Files::isExecutable)
                    .map(file -> root.relativize(file).toString())
                    .sorted()
                    .collect(ImmutableList.toImmutableList());
        }
    }

    private static void remove(Path directory) {
        try {
            HostileTree.delete(directory);
        } catch (IOException e) {
            throw new CommandFailure("cannot remove " + directory + ": " + CommandFailure.reason(e), e);
        }
    }
}
