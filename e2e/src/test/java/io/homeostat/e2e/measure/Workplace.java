package io.homeostat.e2e.measure;

import io.homeostat.e2e.ControlGroups;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A directory, and all processes that come of what is started in it. Both go when it is closed, also on Ctrl-C: what runs is found in
 * /proc by the environment of what was started here or by any file of the directory that it has to do with.
 */
public final class Workplace implements AutoCloseable {
    private static final String MARK = "E2E_WORKPLACE";
    private static final Duration LONGEST = Duration.ofMinutes(10);
    private static final Duration KILLING = Duration.ofSeconds(60);
    private static final List<String> LINKS = List.of("exe", "cwd", "fd/1", "fd/2");

    private final Path root;
    private final Thread interrupted = new Thread(this::clear, "workplace-interrupted");
    private volatile boolean closed;

    public Workplace() throws IOException {
        // Short, because there are sockets below it.
        root = Files.createTempDirectory("hsb");
        Runtime.getRuntime().addShutdownHook(interrupted);
    }

    public Path root() {
        return root;
    }

    /** A file or directory in it. */
    public Path path(String name) {
        return root.resolve(name);
    }

    public Path write(String name, String text) throws IOException {
        requireOpen();
        Path file = path(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }

    public Path executable(String name, String text) throws IOException {
        Path file = write(name, text);
        if (!file.toFile().setExecutable(true)) {
            throw new IOException("cannot make " + file + " executable");
        }
        return file;
    }

    /** Starts a program that writes what it says to a file in here. */
    public Process start(String output, List<String> line) throws IOException {
        requireOpen();
        ProcessBuilder builder = new ProcessBuilder(line)
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectErrorStream(true)
                .redirectOutput(path(output).toFile());
        builder.environment().put(MARK, root.toString());
        return builder.start();
    }

    private void requireOpen() throws IOException {
        if (closed) {
            throw new IOException("interrupted");
        }
    }

    /** Runs a program that has to succeed; returns what it said. */
    public String run(List<String> line) throws IOException, InterruptedException {
        Process process = start("out", line);
        if (!process.waitFor(LONGEST.toSeconds(), TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
            throw new IOException(line + " takes longer than " + LONGEST.toSeconds() + " s: " + text("out"));
        }
        String said = text("out");
        if (process.exitValue() != 0) {
            throw new IOException(line + " exited with " + process.exitValue() + " and said: " + said);
        }
        return said;
    }

    public String run(String... line) throws IOException, InterruptedException {
        return run(Arrays.asList(line));
    }

    public String text(String output) {
        try {
            return Files.readString(path(output), StandardCharsets.UTF_8);
        } catch (NoSuchFileException e) {
            return "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The numbers of all living processes that came of it. */
    public List<Long> processes() {
        return ProcFs.processes().filter(this::isOurs).toList();
    }

    private boolean isOurs(long pid) {
        if (pid == ProcessHandle.current().pid()) {
            return false;
        }
        return ProcFs.text(pid, "environ").contains(MARK + "=" + root + "\0")
                || ProcFs.text(pid, "cmdline").contains(root + "/")
                || LINKS.stream().anyMatch(link -> ProcFs.link(pid, link).startsWith(root));
    }

    /** kill -9 for all of them, until none is left. */
    public void killAll() {
        long deadline = System.nanoTime() + KILLING.toNanos();
        List<Long> left = processes();
        while (!left.isEmpty()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("processes do not end: " + left);
            }
            left.forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
            left = processes();
        }
    }

    /** Removes a tree, whatever of it goes by itself meanwhile. */
    public static void delete(Path tree) throws IOException {
        if (Files.notExists(tree)) {
            return;
        }
        try (Stream<Path> files = Files.walk(tree)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /** Ends all that runs and empties a state directory, with its control groups. */
    public void reset(String state) throws IOException {
        killAll();
        ControlGroups.removeEmpty(path(state));
        delete(path(state));
    }

    private synchronized void clear() {
        closed = true;
        try {
            killAll();
            ControlGroups.removeEmpty(path("s"));
            // On Ctrl-C somebody may be about to write the last file.
            Waiting.until(root + " can be removed", KILLING, this::isRemoved);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isRemoved() throws IOException {
        try {
            delete(root);
            return true;
        } catch (DirectoryNotEmptyException e) {
            return false;
        }
    }

    @Override
    public void close() {
        clear();
        try {
            boolean _ = Runtime.getRuntime().removeShutdownHook(interrupted);
        } catch (IllegalStateException e) {
            // It is on its way down already, and the hook has nothing left to do.
        }
    }
}
