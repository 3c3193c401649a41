package io.homeostat.e2e.bench;

import io.homeostat.e2e.measure.Waiting;
import io.homeostat.e2e.measure.Workplace;
import io.homeostat.guest.CallLog;
import io.homeostat.guest.FakeGuest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** What we add to the containers of a guest, which runs in this process and notes when it was asked for something. */
final class GuestContainers {
    private static final int MANY = 200;
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    /** Between two, so that the one before is done with: once it has stayed alive for a second there is nothing left to do for it. */
    private static final Duration PAUSE = Duration.ofMillis(1300);

    private static final double NANOS_PER_MILLI = 1e6;
    private static final double NANOS_PER_SECOND = 1e9;

    private final Bench bench;
    private final Program program;
    private final CallLog calls;

    private GuestContainers(Bench bench, Program program, CallLog calls) {
        this.bench = bench;
        this.program = program;
        this.calls = calls;
    }

    static void measure(Bench bench) throws IOException, InterruptedException {
        try (Workplace place = new Workplace()) {
            Path socket = place.path("agent.sock");
            try (FakeGuest guest = new FakeGuest(socket, Files.createDirectories(place.path("files")))) {
                Program program = new Program(bench.distribution(), place);
                Program.Agent _ = program.startAgent("").awaitReady();
                GuestContainers containers = new GuestContainers(bench, program, guest.calls());
                program.declare("guest.yaml", """
                        apiVersion: homeostat.io/v1
                        kind: Sandbox
                        metadata: {name: guest}
                        spec: {endpoint: "unix://%s", stop: {timeout: 2s}}
                        """.formatted(socket));
                Waiting.until(
                        "there is a sandbox", PATIENCE, () -> guest.agent().hasSandbox());
                containers.oneByOne();
                containers.many();
                containers.output();
                containers.withdraw();
            }
        }
    }

    private static String container(String name, String command, String more) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Container
                metadata: {name: %s}
                spec: {sandbox: guest, rootfs: {path: /rootfs}, stop: {timeout: 2s}, command: %s%s}
                """.formatted(name, command, more);
    }

    private static String sleeping(String name) {
        return container(name, "[sleep, '100000']", "");
    }

    private void await(String method, long count) throws IOException, InterruptedException {
        Waiting.until(count + " calls of " + method, PATIENCE, () -> calls.count(method) >= count);
    }

    private void oneByOne() throws IOException, InterruptedException {
        List<Double> millis = new ArrayList<>();
        // The first one is not counted: it is the first of everything.
        for (int i = 0; i <= bench.times(30, 5); i++) {
            Waiting.pass(PAUSE);
            String document = sleeping("c" + i);
            long declared = System.nanoTime();
            program.declare("c" + i + ".yaml", document);
            await("StartContainer", i + 1);
            if (i > 0) {
                millis.add((calls.latest("StartContainer") - declared) / NANOS_PER_MILLI);
            }
        }
        bench.add(Figure.CONTAINER_START, millis);
    }

    /** None of their calls may be repeated. */
    private void many() throws IOException, InterruptedException {
        withdraw();
        long before = calls.count("CreateContainer");
        StringBuilder documents = new StringBuilder();
        for (int i = 0; i < MANY; i++) {
            documents.append(sleeping("m" + i));
        }
        long declared = System.nanoTime();
        program.declare("many.yaml", documents.toString());
        await("StartContainer", before + MANY);
        bench.add(Figure.CONTAINERS_200, List.of((calls.latest("StartContainer") - declared) / NANOS_PER_SECOND));
        Waiting.until("all are as declared", PATIENCE, PAUSE, () -> program.succeeds("plan", "--detailed-exitcode"));
        for (String method : List.of("CreateContainer", "StartContainer")) {
            if (calls.count(method) != before + MANY) {
                throw new AssertionError(
                        method + " was sent " + (calls.count(method) - before) + " times for " + MANY + " containers");
            }
        }
    }

    /** Its end is asked for once its output has been taken. */
    private void output() throws IOException, InterruptedException {
        withdraw();
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < bench.times(5, 2); i++) {
            Waiting.pass(PAUSE);
            long waits = calls.count("WaitProcess");
            program.declare(
                    "out" + i + ".yaml",
                    container(
                            "out" + i,
                            "[head, -c, '200000000', /dev/zero]",
                            ", execution: {type: oneShot, triggers: {startup: true}}"));
            await("WaitProcess", waits + 1);
            seconds.add((calls.latest("WaitProcess") - calls.latest("StartContainer")) / NANOS_PER_SECOND);
        }
        bench.add(Figure.CONTAINER_OUTPUT, seconds);
    }

    /** Takes all containers away and waits until nothing of them is left. */
    private void withdraw() throws IOException, InterruptedException {
        try (Stream<Path> declared = Files.list(program.desired())) {
            for (Path file : declared.toList()) {
                if (!file.endsWith("guest.yaml")) {
                    Files.delete(file);
                }
            }
        }
        Waiting.until(
                "all containers are gone",
                PATIENCE,
                PAUSE,
                () -> calls.count("RemoveContainer") >= calls.count("CreateContainer")
                        && program.succeeds("plan", "--detailed-exitcode"));
    }
}
