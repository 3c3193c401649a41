package io.homeostat.e2e.soak;

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
 * @param heap live objects, bytes: the old generation, where a full collection puts all of them; 0 without jcmd beside java
 * @param descriptors open ones
 * @param threads of the kernel
 * @param database bytes, with what is not checkpointed
 * @param state bytes of all other files in the state directory
 * @param files number of them, and of directories, in state and run directory
 */
record Footprint(
        Duration at, long rss, long heap, long descriptors, long threads, long database, long state, long files) {
    private static final Pattern RSS = Pattern.compile("VmRSS:\\s+(\\d+) kB");
    private static final Pattern USED = Pattern.compile("used (\\d+)K");
    private static final int KIB = 1024;
    private static final int JCMD_SECONDS = 30;

    static Footprint of(Daemon daemon, Duration at) throws IOException, InterruptedException {
        Path process = Path.of("/proc/" + daemon.pid());
        jcmd(daemon.pid(), "GC.run");
        long heap = sum(USED, jcmd(daemon.pid(), "GC.heap_info").lines().filter(line -> line.startsWith("Tenured")));
        Matcher rss = RSS.matcher(Files.readString(process.resolve("status")));
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
        return new Footprint(
                at,
                rss.find() ? Long.parseLong(rss.group(1)) * KIB : 0,
                heap * KIB,
                count(process.resolve("fd")) - 1,
                count(process.resolve("task")) - 1,
                database,
                state,
                files);
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
