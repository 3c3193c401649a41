package io.homeostat.sample.driver;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A process as /proc shows it (proc_pid_stat(5)).
 *
 * @param session the process that made its session
 * @param userTicks time in its own code, in hundredths of a second
 * @param systemTicks time in the kernel, in hundredths of a second
 * @param start when it began, in hundredths of a second since the machine did
 */
record Proc(long pid, char state, long parent, long session, long userTicks, long systemTicks, long start) {
    private static final Path ROOT = Path.of("/proc");

    /** Null when there is none with that number. */
    static @Nullable Proc of(long pid) {
        String stat;
        try {
            stat = new String(
                    Files.readAllBytes(ROOT.resolve(Long.toString(pid)).resolve("stat")), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return null; // it is gone
        }
        // The second field is a name in parentheses, which may have anything in it; field 3 is the first one after it.
        List<String> fields =
                List.of(stat.substring(stat.lastIndexOf(')') + 2).trim().split(" ", -1));
        return new Proc(
                pid,
                fields.get(0).charAt(0),
                Long.parseLong(fields.get(1)),
                Long.parseLong(fields.get(3)),
                Long.parseLong(fields.get(11)),
                Long.parseLong(fields.get(12)),
                Long.parseLong(fields.get(19)));
    }

    /** Its memory that is in RAM (proc_pid_status(5), VmRSS); 0 when it has gone meanwhile. */
    long residentBytes() {
        try (Stream<String> lines =
                Files.lines(ROOT.resolve(Long.toString(pid)).resolve("status"), StandardCharsets.ISO_8859_1)) {
            return lines.filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024)
                    .findFirst()
                    .orElse(0);
        } catch (IOException | UncheckedIOException e) {
            return 0;
        }
    }

    static List<Proc> all() {
        List<Proc> all = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(ROOT, "[0-9]*")) {
            for (Path entry : entries) {
                Proc one = of(Long.parseLong(entry.getFileName().toString()));
                if (one != null) {
                    all.add(one);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list " + ROOT, e);
        }
        return all;
    }

    /** Whether that very process runs; one that has ended and is not yet waited for does not. */
    static boolean isAlive(long pid, long start) {
        Proc found = of(pid);
        return found != null && found.start == start && found.isAlive();
    }

    boolean isAlive() {
        return state != 'Z' && state != 'X';
    }

    /** Names this boot of the machine, within which numbers and start times of processes mean something. */
    static String boot() {
        try {
            return Files.readString(ROOT.resolve("sys/kernel/random/boot_id")).trim();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot tell this boot from others", e);
        }
    }
}
