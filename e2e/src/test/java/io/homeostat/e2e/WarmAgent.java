package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.fail;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;

/** {@code homeostat run} in a thread of this JVM. Signals reach it as its process would hand them on. */
final class WarmAgent implements RunningCommand, ProgramClasses.Signals {
    private static final int FAILED = 1;

    /** Names of threads that gRPC, the JDK and Failsafe, which jetcd uses, keep for whoever needs one next. */
    private static final List<String> SHARED = List.of("grpc-", "ForkJoinPool.commonPool-", "FailsafeDelayScheduler");

    /** How long threads that were told to end may take. */
    private static final Duration THREADS_END = Duration.ofSeconds(30);

    private final ProgramClasses classes;
    private final Path directory;
    private final List<String> arguments;
    private final Map<String, String> variables;
    private final Consumer<WarmAgent> onEnd;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private final PrintStream messages = new PrintStream(err, true, StandardCharsets.UTF_8);
    private final Thread thread;
    private final long startedAt = System.nanoTime();

    /** Who is interrupted by SIGTERM; null before it waits for signals, and after; guarded by this. */
    private @Nullable Thread worker;

    private boolean terminated;
    private Runnable onHangUp = () -> {};
    private volatile int exit = FAILED;

    /**
     * @param classes used by nobody else until it has ended
     * @param onEnd called when its classes may be used again
     */
    WarmAgent(
            ProgramClasses classes,
            Path directory,
            List<String> arguments,
            Map<String, String> variables,
            Consumer<WarmAgent> onEnd) {
        this.classes = classes;
        this.directory = directory;
        this.arguments = arguments;
        this.variables = variables;
        this.onEnd = onEnd;
        this.thread = Thread.ofPlatform().daemon().name("agent").unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    private void run() {
        try {
            exit = classes.run(
                    arguments,
                    Map.of(
                            "variables",
                            classes.variables(variables),
                            "workingDirectory",
                            directory,
                            "interrupts",
                            classes.interrupts(this),
                            "out",
                            new PrintStream(out, true, StandardCharsets.UTF_8),
                            "err",
                            messages,
                            "outIsTerminal",
                            false,
                            "errIsTerminal",
                            false));
        } catch (RuntimeException e) {
            say(e + "; this is a defect of homeostat");
        } finally {
            sayWhatIsLeft();
            onEnd.accept(this);
        }
    }

    /** A process takes its threads with it; here they would go on with the state of a test that is over. */
    private void sayWhatIsLeft() {
        try {
            Awaitility.await()
                    .atMost(THREADS_END)
                    .pollDelay(Duration.ZERO)
                    .until(() -> threads().isEmpty());
        } catch (ConditionTimeoutException e) {
            say("threads are left: " + threads() + "; this is a defect of homeostat");
        }
    }

    /** Returns the living threads that it has started, without those of pools that it shares with all of this JVM. */
    private List<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(each -> classes.isOf(each)
                        && !each.equals(Thread.currentThread())
                        && SHARED.stream().noneMatch(each.getName()::startsWith))
                .toList();
    }

    ProgramClasses classes() {
        return classes;
    }

    /** Whether it has started a thread. */
    boolean isOf(Thread other) {
        return classes.isOf(other);
    }

    /** Adds a line to its standard error. */
    void say(String words) {
        messages.println(words);
    }

    @Override
    public synchronized void awaited(Thread waiting, Runnable whenHungUp) {
        worker = waiting;
        onHangUp = whenHungUp;
        if (terminated) {
            waiting.interrupt();
        }
    }

    @Override
    public synchronized void over() {
        worker = null;
        onHangUp = () -> {};
    }

    @Override
    public boolean isRunning() {
        return thread.isAlive();
    }

    @Override
    public String soFar() {
        return out.toString(StandardCharsets.UTF_8) + err.toString(StandardCharsets.UTF_8);
    }

    @Override
    public synchronized void terminate() {
        terminated = true;
        if (worker != null) {
            worker.interrupt();
        }
    }

    @Override
    public synchronized void hangUp() {
        onHangUp.run();
    }

    @Override
    public Result await(Duration patience) {
        try {
            if (!thread.join(patience)) {
                String where = Arrays.stream(thread.getStackTrace())
                        .map(frame -> "\n  at " + frame)
                        .collect(Collectors.joining());
                terminate();
                return fail("not done within " + patience.toSeconds() + " s: " + result() + where);
            }
        } catch (InterruptedException e) {
            terminate();
            Thread.currentThread().interrupt();
            return fail("interrupted", e);
        }
        return result();
    }

    private Result result() {
        return new Result(
                String.join(" ", arguments) + " (in this JVM)",
                exit,
                out.toString(StandardCharsets.UTF_8),
                err.toString(StandardCharsets.UTF_8),
                Duration.ofNanos(System.nanoTime() - startedAt));
    }
}
