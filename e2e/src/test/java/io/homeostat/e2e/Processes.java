package io.homeostat.e2e;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What runs, from /proc. */
final class Processes {
    private static final Path PROC = Path.of("/proc");

    /** The sample driver's, in whose environment is nothing. */
    private static final Pattern EXECUTOR =
            Pattern.compile("perl \\S*/(?<task>[^/ ]+)/\\.runner-[^/ ]+/executor\\.pl task .*", Pattern.DOTALL);

    private Processes() {}

    /** One process. */
    record Seen(long pid, String command, String environment) {
        /** What it was started for: {@code plugin/greeter}; empty for what is not a workload's process. */
        String workload() {
            return variable("HOMEOSTAT_WORKLOAD")
                    .or(() -> variable("NOMAD_TASK_NAME").map(name -> "task/" + name))
                    .or(() -> Optional.of(EXECUTOR.matcher(command))
                            .filter(Matcher::matches)
                            .map(executor -> "task/" + executor.group("task")))
                    .orElse("");
        }

        private Optional<String> variable(String name) {
            return environment
                    .lines()
                    .filter(line -> line.startsWith(name + "="))
                    .map(line -> line.substring(line.indexOf('=') + 1))
                    .findFirst();
        }

        /** Whether it is what waits for a workload's first process: our shell, or the sample driver's executor. */
        boolean isKeeper() {
            return environment.contains("HOMEOSTAT_KEEPER=")
                    || EXECUTOR.matcher(command).matches();
        }

        @Override
        public String toString() {
            return pid + " [" + workload() + "] " + command;
        }
    }

    /**
     * All living processes that came of a test: what has its mark in the environment, what writes to a file of its directory, as
     * every workload does, and what is a task with its directories there.
     *
     * @param mark NAME=VALUE
     */
    static List<Seen> of(String mark, Path directory) {
        List<Seen> found = new ArrayList<>();
        String task = "NOMAD_ALLOC_DIR=" + directory + "/";
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path entry : entries) {
                String environment = text(entry.resolve("environ"));
                if (environment.lines().anyMatch(line -> line.equals(mark) || line.startsWith(task))
                        || writesInto(directory, entry)) {
                    long pid = Long.parseLong(entry.getFileName().toString());
                    found.add(new Seen(pid, text(entry.resolve("cmdline")).replace('\n', ' '), environment));
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException("cannot look at /proc", e);
        }
        return found;
    }

    private static boolean writesInto(Path directory, Path process) {
        return Stream.of("fd/1", "fd/2").map(process::resolve).anyMatch(descriptor -> {
            try {
                return Files.readSymbolicLink(descriptor).startsWith(directory);
            } catch (IOException e) {
                return false; // it is gone, closed, or somebody else's
            }
        });
    }

    /** Empty when the process is gone, a zombie, or somebody else's. */
    private static String text(Path file) {
        try {
            return new String(Files.readAllBytes(file), StandardCharsets.UTF_8).replace('\0', '\n');
        } catch (IOException e) {
            return "";
        }
    }

    static boolean isAlive(long pid) {
        return !text(PROC.resolve(Long.toString(pid)).resolve("cmdline")).isEmpty();
    }

    static String command(long pid) {
        return text(PROC.resolve(Long.toString(pid)).resolve("cmdline")).replace('\n', ' ');
    }

    /** The process that started it; 0 when it is gone. */
    static long parent(long pid) {
        String stat = text(PROC.resolve(Long.toString(pid)).resolve("stat"));
        // Field 4; the second one is a name in parentheses, which may have anything in it (proc_pid_stat(5)).
        return stat.isEmpty()
                ? 0
                : Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[1]);
    }

    /** The memory of a process that is in RAM (proc_pid_status(5), VmRSS). */
    static long residentBytes(long pid) {
        return text(PROC.resolve(Long.toString(pid)).resolve("status"))
                .lines()
                .filter(line -> line.startsWith("VmRSS:"))
                .map(line -> line.replaceAll("[^0-9]", ""))
                .mapToLong(kibibytes -> Long.parseLong(kibibytes) * 1024)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("process " + pid + " is gone"));
    }

    /** Any signal, by its name without SIG. */
    static void signal(String name, long pid) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start();
            int exit = kill.waitFor();
            if (exit != 0) {
                throw new IllegalStateException("kill -" + name + " " + pid + " exited with " + exit);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** kill -9 for one process. */
    static void kill(long pid) {
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    }
}
