package io.homeostat.e2e.bench;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.e2e.measure.EtcdStore;
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
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Machines that go by an etcd of one member: one of them, and what ten thousand cost. */
final class Fleet implements AutoCloseable {
    private static final int MACHINES = 10_000;
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    /** Within it all machines change twice. */
    private static final Duration CHANGES = Duration.ofSeconds(65);

    private static final Duration QUICK_CHANGES = Duration.ofSeconds(35);
    private static final Duration PAUSE = Duration.ofMillis(300);
    private static final double NANOS_PER_MILLI = 1e6;
    private static final double NANOS_PER_SECOND = 1e9;
    private static final String PREFIX = "/homeostat/";
    private static final String LOAD = "load";
    private static final Pattern LOAD_SAYS =
            Pattern.compile("\\d+ of \\d+ machines registered, (?<writes>\\d+) writes a second");

    private final Bench bench;
    private final Workplace place;
    private final EtcdCluster cluster;
    private final EtcdStore store;
    private final Program program;
    private final String source;
    private final Path config;

    private Fleet(Bench bench) throws IOException, InterruptedException {
        this.bench = bench;
        place = new Workplace();
        cluster = EtcdCluster.start(place.path("etcd"), 1, "--quota-backend-bytes", "4294967296");
        store = new EtcdStore(cluster.endpoints());
        program = new Program(bench.distribution(), place);
        source = "etcd: {endpoints: [\"" + cluster.endpoints().getFirst() + "\"]}";
        config = place.write("fleet.yaml", "sources: {local: {directories: []}, " + source + "}\n");
        Waiting.until("etcd answers", PATIENCE, this::answers);
    }

    private boolean answers() throws InterruptedException {
        try {
            return store.read(PREFIX).revision() > 0;
        } catch (IOException e) {
            return false;
        }
    }

    static void measure(Bench bench) throws IOException, InterruptedException {
        if (!EtcdCluster.isInstalled()) {
            bench.skip("fleet", Samples.OURS, "there is no /usr/bin/etcd");
            return;
        }
        try (Fleet fleet = new Fleet(bench)) {
            fleet.exec();
        }
        try (Fleet fleet = new Fleet(bench)) {
            fleet.crowd();
        }
    }

    private void exec() throws IOException, InterruptedException {
        Path stamp = place.path("stamp");
        String _ = StampProgram.create(place, stamp);
        Stamps stamps = new Stamps(place.path("stamps"));
        Program.Agent _ = program.startAgent(source).awaitReady();
        List<Double> millis = new ArrayList<>();
        String documents = "";
        for (int i = 0; i <= bench.times(30, 7); i++) {
            Waiting.pass(PAUSE);
            documents += Documents.process("p" + i, List.of(stamp.toString(), stamps.argument()));
            byte[] set = set(documents);
            long published = System.nanoTime();
            store.put(PREFIX + "set", set);
            Stamp begun = stamps.await(i + 1, PATIENCE);
            // The first one is not counted, as it has classes loaded.
            if (i > 0) {
                millis.add((begun.nanos() - published) / NANOS_PER_MILLI);
            }
        }
        bench.add(Figure.FLEET_EXEC, millis);
    }

    /** What {@code publish} would write: its own start is not what is measured. */
    private byte[] set(String documents) throws IOException, InterruptedException {
        Path file = place.write("set.d/set.yaml", documents);
        Path set = place.path("published.json");
        double _ = program.seconds(
                "", "publish", "-f", file.toString(), "--to", set.toUri().toString());
        return Files.readAllBytes(set);
    }

    private void publish(String documents) throws IOException, InterruptedException {
        store.put(PREFIX + "set", set(documents));
    }

    private void crowd() throws IOException, InterruptedException {
        Process controller = place.start(
                "controller", List.of(program.path(), "fleet", "controller", "--config", config.toString()));
        Path load = Path.of(System.getProperty("homeostat.root"), "reconciler", "fleet-load");
        Process _ =
                place.start(LOAD, List.of(load.toString(), cluster.endpoints().getFirst(), String.valueOf(MACHINES)));
        publish(inWaves("workload-0", "1", "2", "/bin/sleep", "web"));
        Waiting.until("all machines are registered", PATIENCE, PAUSE, () -> registered() == MACHINES);
        Waiting.until(
                "a wave opens", PATIENCE, PAUSE, () -> phase("workload-0-2").equals("PROGRESSING"));
        // Else it would be counted how they come, not how they change.
        Waiting.until("all machines are heard of", PATIENCE, PAUSE, () -> heardOf() == MACHINES);
        int before = writes().size();
        Waiting.pass(bench.times(1, 0) == 1 ? CHANGES : QUICK_CHANGES);
        List<Double> writes = writes();
        bench.add(Figure.FLEET_WRITES, writes.subList(before, writes.size()));
        fleet(Figure.FLEET_STATUS, MACHINES + " machines", "status");
        Path next = place.write("next.yaml", inWaves("workload-0", "1", "3", "/bin/sleep", "web"));
        fleet(Figure.FLEET_PLAN, "rollout workload-0-3", "plan", "-f", next.toString());
        halts();
        bench.add(Figure.FLEET_CONTROLLER, List.of(ProcFs.mebibytes(controller.pid(), "status", "VmHWM")));
    }

    private void fleet(Figure figure, String expected, String... words) throws IOException, InterruptedException {
        List<String> line = new ArrayList<>(List.of("fleet"));
        line.addAll(List.of(words));
        line.addAll(List.of("--config", config.toString()));
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < bench.times(10, 3); i++) {
            seconds.add(program.seconds(expected, line.toArray(String[]::new)));
        }
        bench.add(figure, seconds);
    }

    /** Beside the crowd a real machine, the only one of its kind, fails again and again. */
    private void halts() throws IOException, InterruptedException {
        String crowd = inWaves("workload-0", "1", "2", "/bin/sleep", "web");
        Program.Agent _ = program.startAgent(source, "labels: {role: canary}\ninstanceId: canary")
                .awaitReady();
        publish(crowd + revision("web", "1", "/bin/sleep", "canary"));
        // What never worked is tried again and again, and there would be nothing to go back to.
        Waiting.until(
                "the first revision works",
                PATIENCE,
                () -> canary().path("healthy").asBoolean());
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < bench.times(5, 2); i++) {
            String revision = String.valueOf(2 + i);
            publish(crowd + inWaves("web", "1", revision, "/bin/false", "canary"));
            Waiting.until(
                    "a failure is reported",
                    PATIENCE,
                    () -> canary().path("failed").asText().equals(revision));
            long reported = System.nanoTime();
            Waiting.until("it halts", PATIENCE, () -> phase("web-" + revision).equals("HALTED"));
            seconds.add((System.nanoTime() - reported) / NANOS_PER_SECOND);
        }
        bench.add(Figure.FLEET_HALT, seconds);
    }

    private static String inWaves(String name, String from, String to, String program, String role) {
        return revision(name, from, "/bin/sleep", role)
                + revision(name, to, program, role)
                + """
                ---
                apiVersion: homeostat.io/v1
                kind: Rollout
                metadata: {name: %s-%s}
                spec: {workloads: [process/%s], from: "%s", to: "%s"}
                """.formatted(name, to, name, from, to);
    }

    private static String revision(String name, String revision, String program, String role) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                placement: {matchLabels: {role: %s}}
                spec:
                  install: local
                  revision: "%s"
                  entryPoint: %s
                  arguments: ["1000000"]
                  start: {attempts: 1}
                """.formatted(name, role, revision, program);
    }

    private String phase(String rollout) throws IOException, InterruptedException {
        String key = PREFIX + "rollouts/" + rollout;
        return store.read(key).json(key).path("phase").asText();
    }

    /** What the machine says of its only workload. */
    private JsonNode canary() throws IOException, InterruptedException {
        String key = PREFIX + "reports/canary";
        return store.read(key).json(key).path("workloads").path(0);
    }

    private int registered() throws IOException, InterruptedException {
        return store.read(PREFIX + "machines/").values().size();
    }

    private int heardOf() throws IOException, InterruptedException {
        return store.read(PREFIX + "reports/").values().size();
    }

    private List<Double> writes() {
        return LOAD_SAYS
                .matcher(place.text(LOAD))
                .results()
                .map(line -> Double.valueOf(line.group("writes")))
                .toList();
    }

    @Override
    public void close() throws InterruptedException {
        store.close();
        place.killAll();
        cluster.close();
        place.close();
    }
}
