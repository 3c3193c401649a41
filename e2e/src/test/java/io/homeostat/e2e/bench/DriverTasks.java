package io.homeostat.e2e.bench;

import io.homeostat.e2e.bench.RunnerCalls.Call;
import io.homeostat.e2e.measure.ProcFs;
import io.homeostat.e2e.measure.StampProgram;
import io.homeostat.e2e.measure.Stamps;
import io.homeostat.e2e.measure.Stamps.Stamp;
import io.homeostat.e2e.measure.Waiting;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.opentest4j.TestAbortedException;

/**
 * What we add to the tasks of a driver that runs, whose log says when it was asked for something: the sample driver, which is a JVM, and
 * for single tasks one in Go. What it does itself from StartTask on is no part of a figure, but for the many tasks; that it has to notice the
 * end of a task, and to destroy it, is.
 */
final class DriverTasks {
    private static final int MANY = 100;
    private static final String IN_GO = "with a driver in Go";
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    /** Between two, so that the one before is done with. */
    private static final Duration PAUSE = Duration.ofMillis(300);

    private static final Duration LONG_ENOUGH = Duration.ofSeconds(3);
    private static final Duration SETTLING = Duration.ofSeconds(20);
    private static final Duration WINDOW = Duration.ofSeconds(60);
    private static final double NANOS_PER_MILLI = 1e6;
    private static final double NANOS_PER_SECOND = 1e9;
    private static final double PERCENT = 100;

    private final Bench bench;
    private final String subject;
    private final Program program;
    private final Path stamp;
    private final RunnerCalls calls;
    private Program.Agent agent;

    private DriverTasks(Bench bench, String subject, Workplace place, RunnerCalls calls)
            throws IOException, InterruptedException {
        this.bench = bench;
        this.subject = subject;
        this.program = new Program(bench.distribution(), place);
        this.stamp = place.path("stamp");
        String _ = StampProgram.create(place, stamp);
        this.calls = calls;
        this.agent = program.startAgent("").awaitReady();
        program.declare("runner.yaml", calls.driver("runner"));
        Waiting.until("the driver runs", PATIENCE, () -> calls.count("SetConfig") > 0);
    }

    static void measure(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            DriverTasks tasks = new DriverTasks(bench, Samples.OURS, place, RunnerCalls.install(place));
            try {
                tasks.oneByOne();
                tasks.crashes();
                tasks.withdraw();
                tasks.many();
                tasks.idle();
                tasks.supervisedAgain();
            } finally {
                // Of tasks more is left than processes: mounts and control groups, which only the program takes away.
                tasks.withdraw();
            }
        }
        measureWithGo(bench);
    }

    private static void measureWithGo(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            RunnerCalls calls;
            try {
                calls = RunnerCalls.installGo(place);
            } catch (TestAbortedException e) {
                bench.skip("tasks", IN_GO, String.valueOf(e.getMessage()));
                return;
            }
            DriverTasks tasks = new DriverTasks(bench, IN_GO, place, calls);
            try {
                tasks.oneByOne();
                tasks.crashes();
            } finally {
                tasks.withdraw();
            }
        }
    }

    private static String task(String name, List<String> line) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Task
                metadata: {name: %s}
                spec: {driver: runner, config: {command: %s, args: ["%s"]}}
                """.formatted(name, line.getFirst(), line.getLast());
    }

    private void oneByOne() throws IOException, InterruptedException {
        Stamps stamps = new Stamps(program.place().path("stamps"));
        List<Double> millis = new ArrayList<>();
        // The first one is not counted: it is the first of everything.
        for (int i = 0; i <= bench.times(50, 10); i++) {
            Waiting.pass(PAUSE);
            String document = task("t" + i, List.of(stamp.toString(), stamps.argument()));
            int before = calls.count("StartTask");
            Instant declared = Instant.now();
            program.declare("t" + i + ".yaml", document);
            Call asked = calls.await("StartTask", before + 1, PATIENCE);
            Stamp _ = stamps.await(i + 1, PATIENCE);
            if (i > 0) {
                millis.add(Duration.between(declared, asked.at()).toNanos() / NANOS_PER_MILLI);
            }
        }
        bench.add(Figure.TASK_START, subject, millis);
    }

    private void crashes() throws IOException, InterruptedException {
        Stamps stamps = new Stamps(program.place().path("stamps"));
        List<Stamp> first = stamps.read();
        Waiting.pass(LONG_ENOUGH);
        List<Double> millis = new ArrayList<>();
        for (int i = 1; i < first.size(); i++) {
            int before = calls.count("StartTask");
            Instant killed = Instant.now();
            ProcFs.kill(first.get(i).pid());
            Call asked = calls.await("StartTask", before + 1, PATIENCE);
            millis.add(Duration.between(killed, asked.at()).toNanos() / NANOS_PER_MILLI);
            Stamp _ = stamps.await(first.size() + i, PATIENCE);
            Waiting.pass(PAUSE);
        }
        bench.add(Figure.TASK_CRASH, subject, millis);
    }

    private void many() throws IOException, InterruptedException {
        List<Double> seconds = new ArrayList<>();
        for (int round = 0; round < bench.times(3, 1); round++) {
            withdraw();
            Stamps stamps = new Stamps(program.place().path("stamps." + round));
            StringBuilder documents = new StringBuilder();
            for (int i = 0; i < MANY; i++) {
                documents.append(task("m" + i, List.of(stamp.toString(), stamps.argument())));
            }
            long declared = System.nanoTime();
            program.declare("many.yaml", documents.toString());
            seconds.add((stamps.await(MANY, PATIENCE).nanos() - declared) / NANOS_PER_SECOND);
        }
        bench.add(Figure.TASKS_100, seconds);
    }

    private void idle() throws InterruptedException {
        Waiting.pass(SETTLING);
        List<Double> percent = new ArrayList<>();
        for (int i = 0; i < bench.times(3, 1); i++) {
            double before = ProcFs.processorSeconds(agent.pid());
            long begun = System.nanoTime();
            Waiting.pass(WINDOW);
            double seconds = (System.nanoTime() - begun) / NANOS_PER_SECOND;
            percent.add((ProcFs.processorSeconds(agent.pid()) - before) / seconds * PERCENT);
        }
        bench.add(Figure.IDLE_100_TASKS, percent);
    }

    /** A task is supervised when its driver was asked to tell its end. */
    private void supervisedAgain() throws IOException, InterruptedException {
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < bench.times(10, 3); i++) {
            Waiting.pass(LONG_ENOUGH);
            int before = calls.count("WaitTask");
            Instant killed = Instant.now();
            ProcFs.kill(agent.pid());
            agent = program.startAgent("");
            Call last = calls.await("WaitTask", before + MANY, PATIENCE);
            Program.Agent _ = agent.awaitReady();
            seconds.add(Duration.between(killed, last.at()).toNanos() / NANOS_PER_SECOND);
        }
        bench.add(Figure.TASKS_SUPERVISED, seconds);
    }

    /** Takes all tasks away and waits until nothing of them is left. */
    private void withdraw() throws IOException, InterruptedException {
        try (Stream<Path> declared = Files.list(program.desired())) {
            for (Path file : declared.toList()) {
                if (!file.endsWith("runner.yaml")) {
                    Files.delete(file);
                }
            }
        }
        // An agent that has not read that yet has nothing to do, so that its plan alone tells nothing.
        Waiting.until(
                "all tasks are gone",
                PATIENCE,
                PAUSE,
                () -> !hasMounts() && program.succeeds("plan", "--detailed-exitcode"));
    }

    /** Each task has some, until it is removed. */
    private boolean hasMounts() throws IOException {
        return Files.readString(Path.of("/proc/self/mounts"))
                .contains(program.place().root() + "/");
    }
}
