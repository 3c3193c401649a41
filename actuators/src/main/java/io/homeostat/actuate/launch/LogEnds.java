package io.homeostat.actuate.launch;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Our notes on where the logs of a workload ended when it was launched last, so that what a failed launch wrote can be told from what
 * others wrote before it. Workloads can't write here.
 */
public final class LogEnds {
    /** No log has this name. */
    private static final String FILE = "at-launch";

    private static final String NO_COPY = "none";
    private static final int SEVERAL = 2;

    private final Layout layout;
    private final Disk disk = new LocalDisk();

    public LogEnds(Layout layout) {
        this.layout = layout;
    }

    /** The file, and where in it what is wanted begins, in bytes. */
    public record Part(Path file, long from) {}

    /** Where a log ended. {@code newestCopy} is what was rotated last, see {@link #identity}. */
    private record End(long inode, long size, String newestCopy) {
        /** Empty when these are not the words of an end. */
        static Optional<End> parse(List<String> words) {
            try {
                return words.size() < 4
                        ? Optional.empty()
                        : Optional.of(
                                new End(Long.parseLong(words.get(0)), Long.parseLong(words.get(1)), words.get(2)));
            } catch (NumberFormatException e) {
                return Optional.empty();
            }
        }
    }

    /** Notes where the workload's logs end now; whatever is written to them from now on is of the launch that follows. */
    public void note(WorkloadId id) throws IOException {
        StringBuilder ends = new StringBuilder();
        for (Path log : logs(id)) {
            End end = end(log);
            if (end != null) {
                ends.append(end.inode() + " " + end.size() + " " + end.newestCopy() + " " + log.getFileName() + "\n");
            }
        }
        Path file = file(id);
        if (ends.isEmpty()) {
            // Nothing was written before, so all that will be there is of this launch.
            Files.deleteIfExists(file);
            return;
        }
        SecureDirectories.create(layout.logTimes(id), SecureDirectories.OURS);
        disk.replace(file, ends.toString().getBytes(StandardCharsets.UTF_8));
    }

    /**
     * What a log has got since the last launch, oldest first: the log, and before it the newest rotated copy if it is of that time. When
     * the log was rotated more than once since, there is more in older copies. All that there is when no end was noted.
     */
    public ImmutableList<Part> sinceLaunch(WorkloadId id, Path log) throws IOException {
        ImmutableList<Path> copies = LogRotation.copies(log).reverse();
        End then = noted(id, log);
        if (then == null) {
            return parts(log, copies, 0);
        }
        End now = end(log);
        if (now == null || now.inode() != then.inode()) {
            return ImmutableList.of(new Part(log, 0));
        }
        int rotations = rotations(copies, then.newestCopy());
        if (rotations == 0) {
            // A log that is shorter was truncated by somebody else.
            return ImmutableList.of(new Part(log, now.size() < then.size() ? 0 : then.size()));
        }
        return parts(log, copies, rotations == 1 ? then.size() : 0);
    }

    /** All of a log's newest lines, whoever wrote them: the newest rotated copy, if there is one, and the log. */
    public static ImmutableList<Part> newest(Path log) {
        return parts(log, LogRotation.copies(log).reverse(), 0);
    }

    private static ImmutableList<Part> parts(Path log, ImmutableList<Path> copies, long fromOfCopy) {
        Part live = new Part(log, 0);
        return copies.isEmpty()
                ? ImmutableList.of(live)
                : ImmutableList.of(new Part(copies.getFirst(), fromOfCopy), live);
    }

    /** How often a log was rotated since this was its newest copy, or since there was none; several times when that copy is gone. */
    private static int rotations(ImmutableList<Path> copies, String newestThen) throws IOException {
        for (int i = 0; i < copies.size(); i++) {
            if (identity(copies.get(i)).equals(newestThen)) {
                return i;
            }
        }
        // Where there are no copies at all, somebody has removed them.
        return newestThen.equals(NO_COPY) || copies.isEmpty() ? copies.size() : SEVERAL;
    }

    /** Without its size, as former versions have noted it. */
    private static String identity(Path copy) throws IOException {
        return LogRotation.identity(copy).replaceFirst("\\+[0-9]+@", "@");
    }

    private @Nullable End noted(WorkloadId id, Path log) throws IOException {
        try {
            for (String line : Files.readAllLines(file(id), StandardCharsets.UTF_8)) {
                List<String> words = Splitter.on(' ').limit(4).splitToList(line);
                if (words.getLast().equals(String.valueOf(log.getFileName()))) {
                    return End.parse(words).orElse(null);
                }
            }
            return null;
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private static @Nullable End end(Path log) throws IOException {
        try {
            Map<String, Object> facts =
                    Files.readAttributes(log, "unix:ino,size,isRegularFile", LinkOption.NOFOLLOW_LINKS);
            if (!Boolean.TRUE.equals(facts.get("isRegularFile"))) {
                return null;
            }
            ImmutableList<Path> copies = LogRotation.copies(log);
            return new End(
                    number(facts, "ino"),
                    number(facts, "size"),
                    copies.isEmpty() ? NO_COPY : identity(copies.getLast()));
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private static long number(Map<String, Object> facts, String name) {
        return ((Number) Objects.requireNonNull(facts.get(name), name)).longValue();
    }

    private ImmutableList<Path> logs(WorkloadId id) {
        String errors = id.kind().errorLog();
        return errors == null
                ? ImmutableList.of(layout.log(id))
                : ImmutableList.of(layout.log(id), layout.workloadState(id).resolve(errors));
    }

    private Path file(WorkloadId id) {
        return layout.logTimes(id).resolve(FILE);
    }
}
