package io.homeostat.reconcile.agent;

import static io.homeostat.reconcile.agent.AgentBench.kill;
import static io.homeostat.reconcile.agent.AgentBench.sleeper;
import static io.homeostat.reconcile.agent.AgentBench.timer;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.agent.PassBroadcast.Following;
import io.homeostat.reconcile.loop.PassId.Trigger;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.runtime.timer.TimerKind;
import io.homeostat.reconcile.runtime.timer.Timers;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The agent on real files, processes and a real database. A resync of an hour means: only a hint can have done it. */
@Timeout(180)
class AgentTest {
    private static final WorkloadId A = WorkloadId.process("a");
    private static final WorkloadId B = WorkloadId.process("b");
    private static final String NEVER = "1h";

    private final AgentBench bench = new AgentBench();

    @AfterEach
    void close() throws Exception {
        bench.close();
    }

    @Test
    void withoutAnyHintTheResyncAloneStartsRepairsChangesAndRemoves() {
        bench.start("1s", false);

        bench.write("a.yaml", sleeper("a", 1000));
        ProcessIdentity first = bench.running(A);
        kill(first);
        ProcessIdentity second = bench.runningAfter(A, first);
        bench.write("a.yaml", sleeper("a", 1001));
        bench.runningAfter(A, second);
        bench.delete("a.yaml");

        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().events(0, 1000).stream()
                        .anyMatch(event -> event.event().type() == EventType.PLUGIN_REMOVED));
    }

    @Test
    void aChangedFileIsNoticedAtOnce() {
        bench.start(NEVER, true);

        bench.write("a.yaml", sleeper("a", 1000));
        ProcessIdentity first = bench.running(A);
        bench.write("a.yaml", sleeper("a", 1001));

        bench.runningAfter(A, first);
    }

    @Test
    void anEndIsNoticedAtOnceWhicheverAgentStartedTheProcess() {
        bench.write("a.yaml", sleeper("a", 1000));
        bench.start(NEVER, true);
        ProcessIdentity first = bench.running(A);
        bench.stop();
        bench.start(NEVER, true);
        bench.write("b.yaml", sleeper("b", 1000));
        // What was written later is there, so the first passes are over.
        bench.running(B);
        assertEquals(first, bench.running(A));

        kill(first);

        bench.runningAfter(A, first);
    }

    @Test
    void theEndOfWhatIsNoProcessIsNoticedAtOnceToo() {
        WorkloadId tick = new WorkloadId(TimerKind.TIMER, "tick");
        Timers timers = Timers.of(bench.layout().stateDir());
        bench.write("tick.yaml", timer("tick"));
        bench.start(NEVER, true);
        String first = startedAndWaitedFor(tick, timers);

        timers.end(first);

        String second = startedAndWaitedFor(tick, timers);
        assertNotEquals(first, second);
        bench.stop();
        assertFalse(timers.isWaitedFor(second), "nobody waits once the agent has ended");
    }

    @Test
    void nobodyWaitsForTheEndOfWhatIsOverThoughSomethingOfItIsLeft() {
        WorkloadId tick = new WorkloadId(TimerKind.TIMER, "tick");
        Timers timers = Timers.of(bench.layout().stateDir());
        bench.write("tick.yaml", timer("tick"));
        bench.start(NEVER, true);
        String first = startedAndWaitedFor(tick, timers);
        bench.stop();
        timers.end(first);
        // What a paused one leaves stays where it is.
        bench.store().pause(tick, "", Instant.EPOCH);
        bench.start("1s", true);
        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().instances(tick).stream().anyMatch(Instance::isOver));

        bench.store().resume(tick, "", Instant.EPOCH);

        assertNotEquals(first, startedAndWaitedFor(tick, timers));
        assertFalse(timers.isWaitedFor(first));
    }

    private String startedAndWaitedFor(WorkloadId id, Timers timers) {
        return await().atMost(AgentBench.PATIENCE)
                .until(
                        () -> bench.store().instances(id).stream()
                                .filter(Instance::isStarted)
                                .map(Instance::launchId)
                                .filter(timers::isWaitedFor)
                                .findFirst(),
                        Optional::isPresent)
                .orElseThrow();
    }

    @Test
    void workloadsOutliveTheAgentAndWhatWasWithdrawnMeanwhileIsStoppedByTheNextOne() {
        bench.write("a.yaml", sleeper("a", 1000));
        bench.write("b.yaml", sleeper("b", 1000));
        bench.start(NEVER, true);
        ProcessIdentity a = bench.running(A);
        ProcessIdentity b = bench.running(B);

        bench.stop();
        assertTrue(ProcessHandle.of(a.pid()).orElseThrow().isAlive());
        bench.delete("b.yaml");
        bench.start("1s", true);

        bench.awaitNone(B);
        assertTrue(ProcessHandle.of(b.pid()).isEmpty());
        assertEquals(a, bench.running(A));
    }

    @Test
    void whatInterruptedStepsLeftIsGoneBeforeTheFirstStepAndWhatIsNobodysStays() throws Exception {
        Layout layout = new Layout(
                bench.declared().resolveSibling("s"), bench.declared().resolveSibling("r"), "test");
        Path half = Files.createDirectories(layout.staging(A).resolve("a_1/bin"));
        Files.writeString(half.resolve("program"), "half");
        Path early = Files.createDirectories(layout.downloads().resolve("a".repeat(64) + ".1.tree"));
        Path foreign = Files.createDirectories(layout.install(A, "a_1"));
        bench.write("a.yaml", sleeper("a", 1000));

        bench.start(NEVER, true);

        bench.running(A);
        assertFalse(Files.exists(layout.staging(A)));
        assertFalse(Files.exists(early));
        assertTrue(Files.exists(foreign));
    }

    @Test
    void aReloadedConfigurationChangesWhereFilesAreReadFrom() throws Exception {
        Agent agent = bench.start(NEVER, true);
        bench.write("a.yaml", sleeper("a", 1000));
        bench.running(A);
        Path other = Files.createDirectory(bench.declared().resolveSibling("other"));
        Files.writeString(other.resolve("b.yaml"), sleeper("b", 1000));

        agent.reload(bench.config("sources: {files: [%s], local: {directories: []}}".formatted(other)));

        bench.running(B);
        bench.awaitNone(A);
        // While it is there, the empty directory of the agent that cleans up would withdraw nothing.
        Files.delete(other.resolve("b.yaml"));
    }

    @Test
    void anArchiveLargerThanConfiguredIsRefused() throws Exception {
        Files.write(bench.declared().resolveSibling("a.tar.gz"), new byte[2000]);
        Agent agent = bench.start(NEVER, true);
        agent.reload(bench.config("sources: {files: [%s], local: {directories: []}}\nlimits: {downloadBytes: 1Ki}"
                .formatted(bench.declared())));

        bench.write("a.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec: {revision: "1", source: {url: ../a.tar.gz}, entryPoint: bin/a}
                """);

        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().events(0, 1000).stream()
                        .anyMatch(event -> event.event().type() == EventType.PLUGIN_INSTALL_FAILED
                                && event.event().message().contains("larger than the 1024")));
    }

    @Test
    void aNewDeclarationDoesNotWaitForTheDownloadOfTheOldOne() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, 1000);
            exchange.getResponseBody().write(1);
            exchange.getResponseBody().flush();
            asked.countDown();
            try {
                done.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        server.start();
        try {
            bench.start(NEVER, true);
            bench.write("a.yaml", """
                    apiVersion: homeostat.io/v1
                    kind: Process
                    metadata: {name: a}
                    spec:
                      revision: "1"
                      source: {url: "http://127.0.0.1:%d/a.tar.gz", timeout: 1h}
                      entryPoint: bin/a
                    """.formatted(server.getAddress().getPort()));
            assertTrue(asked.await(60, TimeUnit.SECONDS));

            bench.write("a.yaml", sleeper("a", 1000));

            bench.running(A);
        } finally {
            done.countDown();
            server.stop(0);
            threads.shutdownNow();
        }
    }

    @Test
    void whoeverDeclaresHearsHowItIsCarriedOut() throws Exception {
        Agent agent = bench.start(NEVER, true);
        Heard heard = new Heard();

        try (Following _ = agent.updates()
                .declare(
                        store -> store.apply(
                                ImmutableList.of(new ToApply(workload("a"), "test")), ImmutableSet.of("test"), false),
                        scope -> {
                            assertEquals(List.of(A), scope.declared().asList());
                            return heard;
                        })) {
            await().atMost(AgentBench.PATIENCE).until(() -> heard.words.contains("settled process/a"));
        }

        assertEquals("starting launch", heard.words.getFirst());
        assertEquals(SourceName.APPLIED, bench.store().declarations().getFirst().source());
    }

    @Test
    void whoeverAsksForARestartHearsOfItThoughAPassOfAnotherOriginIsFaster() throws Exception {
        Agent agent = bench.start(NEVER, true);
        bench.write("a.yaml", sleeper("a", 1000));
        ProcessIdentity former = bench.running(A);
        Heard heard = new Heard();

        try (Following _ = agent.updates()
                .remember(ImmutableList.of(A), store -> store.launchAgain(ImmutableList.of(A)), scope -> {
                    agent.updates().hint(ImmutableList.of(A), Trigger.RESYNC);
                    bench.runningAfter(A, former);
                    return heard;
                })) {
            await().atMost(AgentBench.PATIENCE).until(() -> heard.words.contains("starting launch"));
        }
    }

    private static Workload workload(String name) {
        return Written.workload(sleeper(name, 1000));
    }

    private static final class Heard implements PassListener {
        private final List<String> words = new CopyOnWriteArrayList<>();

        @Override
        public Progress download(WorkloadId id) {
            return Progress.NONE;
        }

        @Override
        public void starting(Step step) {
            words.add("starting " + step.word());
        }

        @Override
        public void finished(WorkloadId id, PassResult next) {
            if (next instanceof PassResult.Settled) {
                words.add("settled " + id);
            }
        }

        @Override
        public void broken(WorkloadId id, Throwable problem) {
            words.add("broken " + problem);
        }
    }
}
