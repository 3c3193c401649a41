package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.controlplane.EtcdCluster;
import io.homeostat.e2e.measure.EtcdStore;
import io.homeostat.e2e.measure.EtcdStore.Snapshot;
import io.homeostat.e2e.measure.ProcFs;
import io.homeostat.e2e.measure.Workplace;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Machines that go by a real etcd, whose members are killed in turn all the while, with two controllers, one of which is killed. Alone:
 * so many agents take the time that other tests wait for.
 */
@Isolated
@Timeout(900)
@EnabledIf("io.homeostat.controlplane.EtcdCluster#isInstalled")
@Tag("nightly")
final class FleetTest {
    private static final int MACHINES = 20;
    private static final Set<Integer> WAVES = Set.of(1, 5, MACHINES);
    private static final String WEB = "process/web";
    private static final String PREFIX = "/homeostat/";
    private static final Duration LONGEST = Duration.ofMinutes(5);

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    private Workplace place;
    private EtcdCluster cluster;
    private EtcdStore store;
    private Path config;
    private final List<Process> agents = new ArrayList<>();

    @BeforeEach
    void start() throws IOException {
        place = new Workplace();
        cluster = EtcdCluster.start(place.path("etcd"), 3);
        store = new EtcdStore(cluster.endpoints());
        config = homeostat.file("fleet.yaml", ofEtcd().toString());
    }

    @AfterEach
    void close() throws InterruptedException {
        store.close();
        place.killAll();
        cluster.close();
        machines().forEach(machine -> ControlGroups.removeEmpty(stateDir(machine)));
        place.close();
    }

    @Test
    void wavesOpenAndStopWhateverIsKilled() throws IOException, InterruptedException {
        patiently().until(() -> store.read(PREFIX).values().isEmpty());
        publish(sleeping("1"));
        for (String machine : machines()) {
            agents.add(startAgent(machine));
        }
        patiently()
                .until(() ->
                        machinesWith("1").equals(machines()) && healthy("1").equals(machines()));
        List<String> controllers = List.of("controller-0", "controller-1");
        Process first = startController(controllers.getFirst());
        patiently().until(() -> leads(controllers.getFirst()));
        Process second = startController(controllers.getLast());

        try (KilledMembers members = new KilledMembers()) {
            publish(sleeping("1") + sleeping("2") + rollout("web-2", "1", "2"));
            patiently().until(() -> admitted(look("web-2", "2")) >= 1);
            first.destroyForcibly().waitFor();
            patiently().until(() -> {
                JsonNode state = look("web-2", "2");
                return phase(state).equals("COMPLETED") && healthy("2").equals(machines());
            });
            assertTrue(leads(controllers.getLast()), () -> place.text(controllers.getLast()));
            assertEquals(machines(), machinesWith("2"));

            publish(sleeping("2") + failing("3") + rollout("web-3", "2", "3"));
            patiently().until(() -> phase(look("web-3", "3")).equals("HALTED"));
            patiently().until(() -> machinesWith("2").equals(machines()));
            members.awaitAll();
        }
        patiently().until(() -> status().contains("halted"));
        assertEquals(1, admitted(look("web-3", "3")));
        assertEquals(1, machines().stream().filter(this::hasTriedTheThird).count());
        assertTrue(second.isAlive() && agents.stream().allMatch(Process::isAlive));
    }

    /** Kills the members of the cluster one after the other, and starts each again: a majority is there most of the time. */
    private final class KilledMembers implements AutoCloseable {
        /** A new leader of etcd prolongs all leases: more often than a controller's lasts would keep the dead one's for ever. */
        private static final int SECONDS_BETWEEN = 20;

        private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor();
        private final AtomicInteger killed = new AtomicInteger();
        private final Future<?> turns = thread.scheduleWithFixedDelay(this::next, 0, SECONDS_BETWEEN, TimeUnit.SECONDS);

        private void next() {
            int member = killed.get() % cluster.endpoints().size();
            try (EtcdStore alone = new EtcdStore(List.of(cluster.endpoints().get(member)))) {
                cluster.kill(member);
                patiently().until(() -> store.read(PREFIX).revision() > 0);
                cluster.start(member);
                patiently().until(() -> alone.read(PREFIX).revision() > 0);
                killed.incrementAndGet();
            } catch (IOException e) {
                throw new IllegalStateException("cannot start member " + member, e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        /** Waits until each was killed. */
        void awaitAll() {
            patiently()
                    .until(() -> killed.get() >= cluster.endpoints().size() || turns.state() != Future.State.RUNNING);
        }

        @Override
        public void close() throws InterruptedException {
            thread.shutdown();
            assertTrue(thread.awaitTermination(LONGEST.toSeconds(), TimeUnit.SECONDS), "a member does not come back");
            if (turns.state() == Future.State.FAILED) {
                fail("no member is killed any more", turns.exceptionNow());
            }
        }
    }

    private static ConditionFactory patiently() {
        return eventually().atMost(LONGEST).ignoreExceptionsInstanceOf(IOException.class);
    }

    private AgentConfig ofEtcd() {
        return AgentConfig.of().with("sources.etcd.endpoints", cluster.endpoints());
    }

    private static Set<String> machines() {
        return IntStream.range(0, MACHINES).mapToObj(i -> "m" + i).collect(Collectors.toCollection(TreeSet::new));
    }

    private Path stateDir(String machine) {
        return place.path(machine).resolve("s");
    }

    private Process startAgent(String machine) throws IOException {
        Path file = place.write(
                machine + "/agent.yaml", ofEtcd().with("instanceId", machine).toString());
        return place.start(
                machine + ".log",
                List.of(
                        Distribution.program().toString(),
                        "run",
                        "--config",
                        file.toString(),
                        "--state-dir",
                        stateDir(machine).toString(),
                        "--run-dir",
                        place.path(machine).resolve("r").toString()));
    }

    private Process startController(String name) throws IOException {
        return place.start(
                name, List.of(Distribution.program().toString(), "fleet", "controller", "--config", config.toString()));
    }

    private boolean leads(String controller) {
        return place.text(controller).contains(" leads");
    }

    private static String sleeping(String revision) {
        return process(revision, "entryPoint: /bin/sleep\n  arguments: [\"" + seconds(revision) + "\"]");
    }

    private static String failing(String revision) {
        return process(revision, "entryPoint: /bin/false\n  start: {attempts: 1}");
    }

    private static String process(String revision, String program) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: web}
                spec:
                  install: local
                  revision: "%s"
                  %s
                """.formatted(revision, program);
    }

    private static String rollout(String name, String from, String to) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Rollout
                metadata: {name: %s}
                spec: {workloads: [%s], from: "%s", to: "%s", waves: [1, 25%%, 100%%], hold: 1s, timeout: 10m}
                """.formatted(name, WEB, from, to);
    }

    private void publish(String documents) {
        Path file = homeostat.file("set/web.yaml", documents);
        // It is not known what became of what the member had been told that is killed.
        patiently()
                .until(() -> homeostat
                                .runExactly(
                                        "publish", "-f", file.toString(), "--to", "etcd", "--config", config.toString())
                                .exit()
                        == 0);
    }

    private String status() {
        return homeostat
                .runExactly("fleet", "status", "--config", config.toString())
                .out();
    }

    /** How a rollout stands, after a check that no more machines have the new revision than may have it. */
    private JsonNode look(String rollout, String revision) throws IOException, InterruptedException {
        // Before what lets them in: that only ever grows.
        Set<String> running = machinesWith(revision);
        Snapshot snapshot = store.read(PREFIX);
        JsonNode state = snapshot.json(PREFIX + "rollouts/" + rollout);
        running.addAll(reporting(snapshot, workload -> hasOrHad(workload, revision)));
        assertTrue(
                running.size() <= admitted(state), () -> running + " run " + revision + ", and that is open: " + state);
        assertTrue(admitted(state) == 0 || WAVES.contains(admitted(state)), state::toString);
        return state;
    }

    private static int admitted(JsonNode state) {
        return state.path("machines").asInt();
    }

    private static String phase(JsonNode state) {
        return state.path("phase").asText();
    }

    private static boolean hasOrHad(JsonNode workload, String revision) {
        return workload.path("revision").asText().equals(revision)
                || workload.path("failed").asText().equals(revision);
    }

    /** The machines that say that they have a revision and are well. */
    private Set<String> healthy(String revision) throws IOException, InterruptedException {
        return reporting(
                store.read(PREFIX),
                workload -> workload.path("revision").asText().equals(revision)
                        && workload.path("healthy").asBoolean()
                        && workload.path("converged").asBoolean());
    }

    private static Set<String> reporting(Snapshot snapshot, Predicate<JsonNode> what) throws IOException {
        String reports = PREFIX + "reports/";
        Set<String> machines = new TreeSet<>();
        for (String key : snapshot.below(reports)) {
            if (Shapes.stream(snapshot.json(key).path("workloads")).anyMatch(what)) {
                machines.add(key.substring(reports.length()));
            }
        }
        return machines;
    }

    /** The machines on which a revision has a process. */
    private Set<String> machinesWith(String revision) {
        String line = "/bin/sleep\0" + seconds(revision) + "\0";
        return place.processes().stream()
                .filter(pid -> ProcFs.text(pid, "cmdline").equals(line))
                .map(pid -> place.root()
                        .relativize(ProcFs.link(pid, "fd/1"))
                        .getName(0)
                        .toString())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** By which processes of a revision are known. */
    private static String seconds(String revision) {
        return "100000" + revision;
    }

    private boolean hasTriedTheThird(String machine) {
        return homeostat
                .runExactly(
                        "events",
                        "--for",
                        WEB,
                        "-o",
                        "json",
                        "--state-dir",
                        stateDir(machine).toString(),
                        "--run-dir",
                        place.path(machine).resolve("r").toString())
                .exits(0)
                .jsonLines()
                .stream()
                .anyMatch(event -> event.get("revision").asText().equals("3"));
    }
}
