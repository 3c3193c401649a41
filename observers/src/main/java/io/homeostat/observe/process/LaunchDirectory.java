package io.homeostat.observe.process;

import com.google.common.base.Splitter;
import com.google.common.collect.Comparators;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.io.MoreFiles;
import com.google.common.primitives.Longs;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.history.Exit;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * Reads the notes on one launch. The agent's appear complete, by a rename; the keeper's are complete when they end with a newline. None is
 * synced: after a power failure none of the processes is there that they tell of.
 */
public record LaunchDirectory(Path path) {
    /** Far more than is ever written to one of the files, in bytes. */
    private static final int LONGEST = 1 << 20;

    private static final Pattern PLAIN_ID = Pattern.compile("[A-Za-z0-9-]{1,64}");

    private static final int SIGNAL_BASE = 128;
    private static final int LAST_SIGNAL = 64;

    /** Between a child's end and its record there are a few system calls. A busy machine may not run the keeper for that long. */
    private static final Duration RECORD_WITHIN = Duration.ofSeconds(2);

    private static final Duration FIRST_POLL = Duration.ofNanos(500_000);
    private static final Duration LONGEST_POLL = Duration.ofMillis(8);

    /**
     * Those below the directory of a kind. What is removed meanwhile is left out.
     *
     * @param launches see {@link Layout#launches(io.homeostat.desired.model.Kind)}
     */
    public static ImmutableList<LaunchDirectory> all(Path launches) throws IOException {
        ImmutableList.Builder<LaunchDirectory> all = ImmutableList.builder();
        for (Path ofWorkload : list(launches)) {
            list(ofWorkload).stream()
                    .filter(Files::isDirectory)
                    .map(LaunchDirectory::new)
                    .forEach(all::add);
        }
        return all.build();
    }

    private static ImmutableList<Path> list(Path directory) throws IOException {
        try {
            return MoreFiles.listFiles(directory);
        } catch (NoSuchFileException | NotDirectoryException e) {
            return ImmutableList.of();
        }
    }

    /** What was launched: a {@link LaunchNote}. */
    public Path noteFile() {
        return path.resolve("launch.json");
    }

    /** Created exclusively by whoever may run the launch, so that it runs only once. */
    public Path claimFile() {
        return path.resolve("claim");
    }

    /** The process's own line of /proc/PID/stat, then the boot id. */
    public Path identityFile() {
        return path.resolve("identity");
    }

    /** The exit status that the shell saw, then /proc/uptime; the file's mtime is the time of the exit. */
    public Path exitFile() {
        return path.resolve("exit");
    }

    /** How many processes of the workload the OOM killer had killed before this launch. */
    public Path oomKillsFile() {
        return path.resolve("oom-kills");
    }

    /** Output of the launching shells, which say nothing when all goes well, and what a program prints whose protocol begins with that. */
    public Path outputFile() {
        return path.resolve("output");
    }

    /** There once a task was seen in its control groups, which its driver may not use: only then it is gone when they are empty. */
    public Path groupedFile() {
        return path.resolve("grouped");
    }

    /** There once nothing of a task's launch runs and what it left is to be removed: it is never taken up again. */
    public Path endedFile() {
        return path.resolve("ended");
    }

    /** Of a driver: the starts of tasks that it has failed since the last one that it has not. */
    public Path failedStartsFile() {
        return path.resolve("failed-starts");
    }

    /** What a driver calls itself, written once it was set up. */
    public Path pluginNameFile() {
        return path.resolve("plugin-name");
    }

    /** Empty when it was not written down. */
    public Optional<String> pluginName() throws IOException {
        return read(pluginNameFile());
    }

    /** A process that has identified itself, and the pid of our process that waits for it. */
    public record Born(ProcessIdentity identity, long keeper) {}

    /** A recorded exit, and when, in clock ticks since boot. */
    public record Recorded(Exit exit, long ticks) {}

    /** Empty when there is none. */
    public Optional<LaunchNote> note() throws IOException {
        Optional<String> text = read(noteFile());
        if (text.isEmpty()) {
            return Optional.empty();
        }
        try {
            return Optional.of(LaunchNote.fromJson(text.get()));
        } catch (IOException e) {
            throw new IOException(noteFile() + " can't be used: " + e.getMessage(), e);
        }
    }

    /** That of a launch with this id on which there are notes: of any workload, and of a machine that the state belonged to before, too. */
    static Optional<LaunchDirectory> noted(Layout layout, String launchId) throws IOException {
        if (!PLAIN_ID.matcher(launchId).matches()) {
            // Anybody may have called it anything.
            return Optional.empty();
        }
        for (Path machine : MoreFiles.listFiles(layout.stateDir())) {
            Path kinds = layout.of(machine.getFileName().toString()).launches();
            for (Path kind : Files.isDirectory(kinds) ? MoreFiles.listFiles(kinds) : ImmutableList.<Path>of()) {
                for (Path workload : MoreFiles.listFiles(kind)) {
                    LaunchDirectory launch = new LaunchDirectory(workload.resolve(launchId));
                    if (Files.exists(launch.noteFile())) {
                        return Optional.of(launch);
                    }
                }
            }
        }
        return Optional.empty();
    }

    /** Empty when the process has not got that far. */
    public Optional<Born> born() throws IOException {
        Optional<String> text = recorded(identityFile());
        if (text.isEmpty()) {
            return Optional.empty();
        }
        List<String> lines = Splitter.on('\n').splitToList(text.get());
        if (lines.size() < 2 || lines.get(1).isBlank()) {
            return Optional.empty();
        }
        return ProcFs.Stat.parse(lines.get(0))
                .map(stat -> new Born(
                        new ProcessIdentity(
                                stat.pid(), stat.startTicks(), lines.get(1).strip()),
                        stat.parent()));
    }

    /** Empty when no exit was recorded. */
    public Optional<Recorded> exit() throws IOException {
        Instant at;
        try {
            // Before the content: a pass may remove the launch while others look at it.
            at = Files.getLastModifiedTime(exitFile()).toInstant();
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        Optional<String> text = recorded(exitFile());
        if (text.isEmpty()) {
            return Optional.empty();
        }
        List<String> words =
                Splitter.on(' ').omitEmptyStrings().splitToList(text.get().strip());
        if (words.size() < 2) {
            return Optional.empty();
        }
        try {
            return Optional.of(
                    new Recorded(exit(Integer.parseInt(words.get(0)), at), ProcFs.uptimeTicks(words.get(1))));
        } catch (NumberFormatException e) {
            throw new IOException(exitFile() + " can't be used: " + text.get().strip(), e);
        }
    }

    /** Returns the record of an exit that has happened. Waits for it, but not for long, while its keeper runs, which writes it. */
    public Optional<Recorded> awaitExit(ProcFs procFs, String launchId) throws IOException {
        Optional<Born> born = born();
        Duration slept = Duration.ZERO;
        for (Duration poll = FIRST_POLL; ; poll = Comparators.min(poll.multipliedBy(2), LONGEST_POLL)) {
            // In this order: a keeper that is gone has written before.
            boolean writes = born.isPresent() && runs(procFs, born.get().keeper(), launchId);
            Optional<Recorded> recorded = exit();
            if (recorded.isPresent() || !writes || slept.compareTo(RECORD_WITHIN) >= 0) {
                return recorded;
            }
            try {
                Thread.sleep(poll);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return recorded;
            }
            slept = slept.plus(poll);
        }
    }

    /** Returns whether a keeper is there and may write. A stopped one writes nothing before it is continued. */
    private static boolean runs(ProcFs procFs, long keeper, String launchId) throws IOException {
        return procFs.keeps(keeper, launchId)
                && procFs.stat(keeper).filter(stat -> stat.state() != 'T').isPresent();
    }

    /** Empty when it was not known, as without control groups, or when a power failure took the file's content. */
    public OptionalLong oomKillsBefore() throws IOException {
        Long kills =
                read(oomKillsFile()).map(text -> Longs.tryParse(text.strip())).orElse(null);
        return kills == null ? OptionalLong.empty() : OptionalLong.of(kills);
    }

    /** A shell reports 128+n for signal n, and cannot tell that from a program that exits with such a status. */
    private static Exit exit(int status, Instant at) {
        int signal = status - SIGNAL_BASE;
        return signal >= 1 && signal <= LAST_SIGNAL
                ? new Exit(status, signal, Exit.Reason.SIGNALED, at)
                : new Exit(status, null, Exit.Reason.EXITED, at);
    }

    /** What a keeper has written. */
    private static Optional<String> recorded(Path file) throws IOException {
        return read(file).filter(text -> text.endsWith("\n"));
    }

    private static Optional<String> read(Path file) throws IOException {
        try (InputStream in = Channels.newInputStream(PinnedFile.read(file))) {
            byte[] bytes = in.readNBytes(LONGEST + 1);
            if (bytes.length > LONGEST) {
                throw new FileSystemException(file.toString(), null, "it is larger than 1 MiB, and none of ours");
            }
            return Optional.of(new String(bytes, StandardCharsets.UTF_8));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (FileSystemException e) {
            throw e;
        } catch (IOException e) {
            // Unlike an error of opening, one of reading does not name the file.
            throw new IOException(file + " can't be read: " + e.getMessage(), e);
        }
    }

    /** Environment variables by which the processes of a launch can be recognised even when nothing about it is remembered. */
    public static final class LaunchMarks {
        /** In the workload's processes and their children: the id of the launch. */
        public static final String LAUNCH = "HOMEOSTAT_LAUNCH_ID";

        /** In the workload's processes: {@code plugin/ops-agent}, or its brief form. */
        public static final String WORKLOAD = "HOMEOSTAT_WORKLOAD";

        /** In the keeper, our process that waits for the workload's main process: the id of the launch. */
        public static final String KEEPER = "HOMEOSTAT_KEEPER";

        /** There, too: the launch's directory, as the keeper calls it. */
        public static final String KEEPER_DIRECTORY = "HOMEOSTAT_KEEPER_DIRECTORY";

        /** All of these. */
        public static final ImmutableSet<String> ALL = ImmutableSet.of(LAUNCH, WORKLOAD, KEEPER, KEEPER_DIRECTORY);

        private LaunchMarks() {}
    }
}
