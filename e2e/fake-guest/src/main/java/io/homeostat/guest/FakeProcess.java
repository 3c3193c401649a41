package io.homeostat.guest;

import io.homeostat.proto.kata.Process;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A process of a container. Before it is started it waits, as the first one of a container does. */
final class FakeProcess {
    private static final int SIGKILL = 9;
    private static final int SIGTERM = 15;

    private static final Path SCRIPT = Path.of("/usr/bin/script");

    private final Process spec;
    private final boolean first;
    private final CompletableFuture<Integer> status = new CompletableFuture<>();
    /** Counted down once it has been started, or never will be. */
    private final CountDownLatch begun = new CountDownLatch(1);

    private java.lang.@Nullable Process process;
    private boolean inputHasEnded;

    /** @param first whether it is the first one of its container */
    FakeProcess(Process spec, boolean first) {
        this.spec = spec;
        this.first = first;
    }

    synchronized void start() throws IOException {
        List<String> args = spec.getArgsList().isEmpty() ? List.of("sh") : spec.getArgsList();
        ProcessBuilder builder = new ProcessBuilder(hasTerminal() ? atTerminal(args) : args);
        builder.environment().clear();
        for (String variable : spec.getEnvList()) {
            int equals = variable.indexOf('=');
            builder.environment().put(variable.substring(0, equals), variable.substring(equals + 1));
        }
        java.lang.Process started = builder.start();
        process = started;
        if (inputHasEnded) {
            started.getOutputStream().close();
        }
        begun.countDown();
        CompletableFuture<java.lang.Process> _ =
                started.onExit().whenComplete((ended, _) -> status.complete(ended.exitValue()));
    }

    /** Only script(1) makes a terminal without native code; where it is not, neither is the terminal. */
    private static List<String> atTerminal(List<String> args) {
        if (!Files.isExecutable(SCRIPT)) {
            return args;
        }
        String quoted = args.stream()
                .map(word -> "'" + word.replace("'", "'\\''") + "'")
                .collect(Collectors.joining(" "));
        // A guest's agent ignores no signals. This process may, in the background of a script for example.
        String command = "exec env --default-signal -- " + quoted;
        return List.of(SCRIPT.toString(), "-q", "-e", "-f", "-c", command, "/dev/null");
    }

    /** Does nothing as long as there is no terminal. */
    void resize(int rows, int columns) throws IOException, InterruptedException {
        java.lang.Process of = process;
        Optional<Path> terminal = of == null ? Optional.empty() : terminal(of);
        if (terminal.isPresent()) {
            int _ = new ProcessBuilder(
                            "stty",
                            "-F",
                            terminal.get().toString(),
                            "rows",
                            String.valueOf(rows),
                            "cols",
                            String.valueOf(columns))
                    .redirectErrorStream(true)
                    .start()
                    .waitFor();
        }
    }

    /** It is there a moment after the process is. */
    private static Optional<Path> terminal(java.lang.Process of) throws InterruptedException {
        for (int looks = 0; looks < 500 && of.isAlive(); looks++) {
            try (Stream<ProcessHandle> below = of.descendants()) {
                Optional<Path> terminal = below.map(one -> Path.of("/proc", String.valueOf(one.pid()), "fd", "0"))
                        .flatMap(FakeProcess::target)
                        .filter(path -> path.startsWith("/dev/pts"))
                        .findFirst();
                if (terminal.isPresent()) {
                    return terminal;
                }
            }
            Thread.sleep(10);
        }
        return Optional.empty();
    }

    private static Stream<Path> target(Path link) {
        try {
            return Stream.of(Files.readSymbolicLink(link));
        } catch (IOException e) {
            // It has ended.
            return Stream.empty();
        }
    }

    long processorNanos() {
        java.lang.Process of = process;
        return of == null
                ? 0
                : of.info().totalCpuDuration().map(Duration::toNanos).orElse(0L);
    }

    boolean hasTerminal() {
        return spec.getTerminal();
    }

    boolean isRunning() {
        return process != null && !status.isDone();
    }

    /** 128 and the number of the signal when one has ended it. */
    CompletableFuture<Integer> status() {
        return status;
    }

    /** For a first process without a handler, which the kernel would protect in a container, agents make SIGKILL of SIGTERM. */
    void signal(int number) throws IOException, InterruptedException {
        java.lang.Process to = process;
        if (to == null) {
            if (number == SIGKILL || number == SIGTERM) {
                status.complete(128 + SIGKILL);
                begun.countDown();
            }
            return;
        }
        boolean fatal = number == SIGTERM && first && !handles(to.pid(), SIGTERM);
        int sent = fatal ? SIGKILL : number;
        int _ = new ProcessBuilder("kill", "-" + sent, String.valueOf(to.pid()))
                .redirectErrorStream(true)
                .start()
                .waitFor();
    }

    private static boolean handles(long pid, int signal) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/status"))) {
            if (line.startsWith("SigCgt:")) {
                return ((Long.parseUnsignedLong(line.substring(7).strip(), 16) >> (signal - 1)) & 1) != 0;
            }
        }
        return false;
    }

    /** Whoever reads before it is started waits for that: its pipes are there as soon as it is made. */
    InputStream output(boolean standardError) throws InterruptedException {
        begun.await();
        java.lang.Process of = process;
        if (of == null) {
            return InputStream.nullInputStream();
        }
        return standardError ? of.getErrorStream() : of.getInputStream();
    }

    OutputStream input() {
        java.lang.Process of = process;
        return of == null ? OutputStream.nullOutputStream() : of.getOutputStream();
    }

    /** Also before it has begun. */
    synchronized void endInput() throws IOException {
        inputHasEnded = true;
        if (process != null) {
            process.getOutputStream().close();
        }
    }

    boolean hasEnded() {
        return status.isDone();
    }

    void kill() {
        begun.countDown();
        if (process != null) {
            process.destroyForcibly();
        } else {
            status.complete(128 + SIGKILL);
        }
    }
}
