package io.homeostat.e2e.measure;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** What /proc says of processes. */
public final class ProcFs {
    private static final Path PROC = Path.of("/proc");
    private static final Path NOWHERE = Path.of("/nowhere");
    private static final double KIB_PER_MIB = 1024;

    /** USER_HZ, in which the kernel tells times to everybody (proc_pid_stat(5)). */
    private static final double TICKS_PER_SECOND = 100;

    private static final int USER_TIME = 11;
    private static final int THREADS = 17;

    private ProcFs() {}

    public static Stream<Long> processes() {
        try (Stream<Path> entries = Files.list(PROC)) {
            return entries
                    .map(entry -> entry.getFileName().toString())
                    .filter(name -> name.chars().allMatch(Character::isDigit))
                    .map(Long::valueOf)
                    .toList()
                    .stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Empty when the process is gone, or somebody else's. */
    public static String text(long pid, String file) {
        try {
            return new String(Files.readAllBytes(of(pid).resolve(file)), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }

    /** Where a link of a process leads, such as {@code exe}; nowhere when it is gone. */
    public static Path link(long pid, String name) {
        try {
            return Files.readSymbolicLink(of(pid).resolve(name));
        } catch (IOException e) {
            return NOWHERE;
        }
    }

    private static Path of(long pid) {
        return PROC.resolve(Long.toString(pid));
    }

    /**
     * A line of {@code status} or {@code smaps_rollup} in MiB: {@code VmRSS}, {@code VmHWM}, {@code Pss}, {@code Anonymous}; 0 when the
     * process is gone.
     */
    public static double mebibytes(long pid, String file, String field) {
        return text(pid, file)
                .lines()
                .filter(line -> line.startsWith(field + ":"))
                .mapToDouble(line -> Double.parseDouble(line.replaceAll("[^0-9]", "")) / KIB_PER_MIB)
                .findFirst()
                .orElse(0);
    }

    /** Seconds that a process has been on a processor; 0 when it is gone. */
    public static double processorSeconds(long pid) {
        String[] fields = stat(pid);
        return fields.length <= THREADS
                ? 0
                : (Long.parseLong(fields[USER_TIME]) + Long.parseLong(fields[USER_TIME + 1])) / TICKS_PER_SECOND;
    }

    public static int threads(long pid) {
        String[] fields = stat(pid);
        return fields.length <= THREADS ? 0 : Integer.parseInt(fields[THREADS]);
    }

    public static int descriptors(long pid) {
        try (Stream<Path> entries = Files.list(of(pid).resolve("fd"))) {
            return (int) entries.count();
        } catch (IOException e) {
            return 0;
        }
    }

    /** The fields from the third one on; the second is a name in parentheses, which may have anything in it. */
    private static String[] stat(long pid) {
        String stat = text(pid, "stat");
        return stat.substring(stat.lastIndexOf(')') + 1).strip().split(" ", -1);
    }

    /** Whether it lives and is no zombie. */
    public static boolean isAlive(long pid) {
        String[] fields = stat(pid);
        return fields.length > THREADS && !fields[0].equals("Z");
    }

    /** kill -9. */
    public static void kill(long pid) {
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    }
}
