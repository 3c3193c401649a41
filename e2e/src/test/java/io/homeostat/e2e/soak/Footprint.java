package io.homeostat.e2e.soak;

import io.homeostat.e2e.measure.ProcFs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What an agent takes of the machine at one moment, right after a full garbage collection.
 *
 * @param at since the start
 * @param rss resident memory, bytes
 * @param anonymous of it what is in no file
 * @param heap live objects, bytes: the old generation, where a full collection puts all of them; 0 without jcmd beside java
 * @param descriptors open ones
 * @param threads of the kernel
 * @param database bytes, with what is not checkpointed
 * @param state bytes of all other files in the state directory
 * @param files number of them, and of directories, in state and run directory
 * @param processorSeconds that it has used since it began
 * @param load what it has used of a core since the look before, in thousandths, with the collection
 */
record Footprint(
        Duration at,
        long rss,
        long anonymous,
        long heap,
        long descriptors,
        long threads,
        long database,
        long state,
        long files,
        double processorSeconds,
        long load) {
    private static final Pattern USED = Pattern.compile("used (\\d+)K");
    private static final int KIB = 1024;
    private static final int PER_MILLE = 1000;
    private static final int JCMD_SECONDS = 30;

    /** The first one. */
    static Footprint of(Daemon daemon) throws IOException, InterruptedException {
        return of(daemon, Duration.ZERO, Duration.ZERO, 0);
    }

    /** The one after this one. */
    Footprint next(Daemon daemon, Duration now) throws IOException, InterruptedException {
        return of(daemon, now, at, processorSeconds);
    }

    private static Footprint of(Daemon daemon, Duration at, Duration before, double usedBefore)
            throws IOException, InterruptedException {
        Path process = Path.of("/proc/" + daemon.pid());
        jcmd(daemon.pid(), "GC.run");
        long heap = sum(USED, jcmd(daemon.pid(), "GC.heap_info").lines().filter(line -> line.startsWith("Tenured")));
        long database = 0;
        long state = 0;
        long files = count(daemon.run());
        for (Path file : Trees.files(daemon.state())) {
            files++;
            if (file.getFileName().toString().startsWith("homeostat.db")) {
                database += size(file);
            } else if (Files.isRegularFile(file)) {
                state += size(file);
            }
        }
        double used = ProcFs.processorSeconds(daemon.pid());
        double seconds = at.minus(before).toMillis() / (double) PER_MILLE;
        return new Footprint(
                at,
                bytes(daemon.pid(), "status", "VmRSS"),
                bytes(daemon.pid(), "smaps_rollup", "Anonymous"),
                heap * KIB,
                count(process.resolve("fd")) - 1,
                count(process.resolve("task")) - 1,
                database,
                state,
                files,
                used,
                seconds == 0 ? 0 : Math.round((used - usedBefore) / seconds * PER_MILLE));
    }

    private static long bytes(long pid, String file, String field) {
        return (long) (ProcFs.mebibytes(pid, file, field) * KIB * KIB);
    }

    private static long sum(Pattern number, Stream<String> lines) {
        return lines.mapToLong(line -> {
                    Matcher found = number.matcher(line);
                    return found.find() ? Long.parseLong(found.group(1)) : 0;
                })
                .sum();
    }

    /** With the directory itself. */
    private static long count(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return 1 + entries.count();
        } catch (NoSuchFileException e) {
            return 0;
        }
    }

    private static long size(Path file) throws IOException {
        try {
            return Files.size(file);
        } catch (NoSuchFileException e) {
            return 0;
        }
    }

    private static String jcmd(long pid, String command) throws IOException, InterruptedException {
        Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
        if (!Files.isExecutable(jcmd)) {
            return "";
        }
        Process process = new ProcessBuilder(jcmd.toString(), Long.toString(pid), command)
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (!process.waitFor(JCMD_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
        return said;
    }
}
