package io.homeostat.reconcile.logs;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.Streams;
import io.homeostat.actuate.launch.LogEnds;
import io.homeostat.actuate.launch.LogEnds.Part;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.observe.process.UserMounts;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the ends of workloads' logs. Their content is not trusted. */
public final class LogFiles implements LogTails {
    private static final Logger LOG = LoggerFactory.getLogger(LogFiles.class);

    /** As many as the guest agent sends with a crash. */
    private static final int LINES = 30;

    /** The commands that precede the program, and the loaders of glibc and musl, which may not get far under the limits that were set. */
    private static final Pattern OF_A_TOOL = Pattern.compile(
            "^(?:\\S*/)?(?:prlimit|choom|nice|setpriv): |: error while loading shared libraries: |^Error loading shared library ");

    private static final int MOST_BYTES = 64 * 1024;

    private final Layout layout;
    private final LogEnds ends;

    public LogFiles(Layout layout) {
        this.layout = layout;
        this.ends = new LogEnds(layout);
    }

    /** The last lines of what was written since the last launch: older ones explain nothing of how that went. */
    @Override
    public String lastLines(WorkloadId id) {
        String hidden = hidden(id);
        return hidden.isEmpty()
                ? joined(linesOf(id, sinceLaunch(id, layout.log(id))), lastErrors(id), obstacle(id))
                : joined(hidden, obstacle(id));
    }

    /** The last lines whatever launch wrote them. */
    public String newestLines(WorkloadId id) {
        String hidden = hidden(id);
        return hidden.isEmpty()
                ? joined(linesOf(id, LogEnds.newest(layout.log(id))), lastErrors(id), obstacle(id))
                : joined(hidden, obstacle(id));
    }

    /** Why its logs are not looked at; empty when they are. */
    private String hidden(WorkloadId id) {
        try {
            UserMounts.check(layout, id);
            return "";
        } catch (IOException e) {
            return "homeostat: its log can't be read: " + e.getMessage();
        }
    }

    private static String joined(String... lines) {
        return Stream.of(lines).filter(some -> !some.isEmpty()).collect(Collectors.joining("\n"));
    }

    /** What was written since the last launch to its log of errors, if it has one. */
    private String lastErrors(WorkloadId id) {
        String name = id.kind().errorLog();
        if (name == null) {
            return "";
        }
        String lines = linesOf(id, sinceLaunch(id, layout.workloadState(id).resolve(name)));
        return lines.isEmpty() ? "" : name + ":\n" + lines;
    }

    private ImmutableList<Part> sinceLaunch(WorkloadId id, Path log) {
        try {
            return ends.sinceLaunch(id, log);
        } catch (IOException e) {
            // What is not known to be old may be the cause.
            LOG.debug("[{}] what in {} is old can't be told: {}", id.brief(), log, e.getMessage());
            return LogEnds.newest(log);
        }
    }

    /** Right after a rotation the last lines are in the rotated copy. */
    private static String linesOf(WorkloadId id, ImmutableList<Part> parts) {
        List<String> all = parts.stream()
                .map(part -> linesOf(id, part.file(), part.from()))
                .filter(lines -> !lines.isEmpty())
                .flatMap(Splitter.on('\n')::splitToStream)
                .toList();
        return String.join("\n", all.subList(Math.max(0, all.size() - LINES), all.size()));
    }

    /** What the launching shell printed when it could not open the log, and those before it when they could not do their part or start. */
    private String obstacle(WorkloadId id) {
        String log = layout.log(id).toString();
        Path launches = layout.launches(id);
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(launches)) {
            return Streams.stream(entries)
                    .map(launch -> linesOf(id, new LaunchDirectory(launch).outputFile(), 0))
                    .flatMap(Splitter.on('\n')::splitToStream)
                    .filter(line ->
                            line.contains(log) || OF_A_TOOL.matcher(line).find())
                    .collect(Collectors.joining("\n"));
        } catch (NoSuchFileException e) {
            return "";
        } catch (IOException | DirectoryIteratorException e) {
            LOG.warn("[{}] what its launches said is not known: {}: {}", id.brief(), launches, e.getMessage());
            return "";
        }
    }

    private static String linesOf(WorkloadId id, Path file, long from) {
        try {
            // No symlink, which could point at anything we may read, and no FIFO, which would block: the workload owns
            // the directory.
            return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) ? lastLines(file, from) : "";
        } catch (NoSuchFileException e) {
            return "";
        } catch (ClosedByInterruptException e) {
            LOG.debug("[{}] nobody waits for the end of its log any more", id.brief());
            return "";
        } catch (IOException e) {
            LOG.warn("[{}] the end of its log is not known: {}: {}", id.brief(), file, e.getMessage());
            return "";
        }
    }

    private static String lastLines(Path file, long from) throws IOException {
        try (FileChannel channel = PinnedFile.read(file)) {
            long size = channel.size();
            int wanted = Math.clamp(size - from, 0, MOST_BYTES);
            ByteBuffer end = ByteBuffer.allocate(wanted);
            long position = size - wanted;
            while (end.hasRemaining() && channel.read(end, position + end.position()) > 0) {
                // Until it is full or the file has become shorter.
            }
            return lines(StandardCharsets.UTF_8.decode(end.flip()).toString(), position > from);
        }
    }

    private static String lines(String text, boolean cut) {
        List<String> lines = Splitter.on('\n').splitToList(text.stripTrailing());
        // If the text was cut, its first line is incomplete.
        int first = Math.max(cut && lines.size() > 1 ? 1 : 0, lines.size() - LINES);
        return lines.subList(first, lines.size()).stream()
                .map(LogFiles::harmless)
                .collect(Collectors.joining("\n"));
    }

    /** Replaces what a terminal would interpret. */
    private static String harmless(String line) {
        StringBuilder shown = new StringBuilder(line.length());
        line.codePoints().forEach(c -> {
            if (c != '\r') {
                shown.appendCodePoint(c == '\t' || VisibleText.isVisible(c) ? c : '?');
            }
        });
        return shown.toString();
    }
}
