package io.homeostat.observe.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.Specs;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.process.FakeProc;
import io.homeostat.observe.process.Launches;
import io.homeostat.proto.nomad.driver.FingerprintResponse.HealthState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.FutureTask;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is seen of a driver that was launched, whose process is 100. */
class DriverHealthTest {
    private static final WorkloadId ID = new WorkloadId(Kind.DRIVER, "raw-exec");
    private static final ProcessIdentity MAIN = new ProcessIdentity(100, 5000, FakeProc.BOOT);
    private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Running RUNNING = new Running(MAIN, Duration.ofSeconds(950), true, null);

    @TempDir
    Path root;

    private FakeProc proc;
    private Launches launches;
    private DriverSessions sessions;
    private DriverHealth health;
    private FakeDriver driver;
    private Instance started;

    @BeforeEach
    void setUp() throws Exception {
        Layout layout = new Layout(root.resolve("state"), root.resolve("run"), "i");
        Files.createDirectories(layout.driverSockets(ID));
        proc = new FakeProc(root.resolve("proc"));
        proc.process(100, 99, 100, 5000);
        launches = new Launches(layout);
        sessions = new DriverSessions(layout, proc.procFs, () -> NOW, true, Files::write);
        health = new DriverHealth(sessions, () -> NOW);
        driver = FakeDriver.on(socket());
        started = launches.noted(Launches.instance(ID, "l1"), FakeProc.BOOT)
                .withIdentity(MAIN)
                .withPhase(Phase.STARTED, "");
        launches.born(started, 100, 5000, FakeProc.BOOT);
        print(FakeDriver.handshake(socket()));
    }

    @AfterEach
    void tearDown() throws Exception {
        health.close();
        driver.close();
    }

    private Path socket() {
        return root.resolve("plugin1");
    }

    private void print(String text) throws Exception {
        Files.writeString(launches.directory(started).outputFile(), text);
    }

    private Running seen(Instance instance, @Nullable WorkloadSpec spec) {
        return switch (health.of(instance, RUNNING, spec)) {
            case Observation.Seen<Running>(Running running) -> running;
            case Observation.Unseen<Running>(String why) -> throw new AssertionError(why);
        };
    }

    private Health asked() {
        return asked(LONG);
    }

    private Health asked(Duration timeout) {
        Running running = seen(started, Specs.driver(timeout));
        assertTrue(running.listening());
        return Objects.requireNonNull(running.health());
    }

    @Test
    void itListensAsSoonAsItHasPrintedALineAndIsAskedNothingUntilItIsStarted() throws Exception {
        Instance launched = started.withPhase(Phase.INTENDED, "");
        print("1|2|unix");
        assertEquals(new Running(MAIN, RUNNING.age(), false, null), seen(launched, Specs.driver(LONG)));
        Files.delete(launches.directory(started).outputFile());
        assertEquals(new Running(MAIN, RUNNING.age(), false, null), seen(launched, Specs.driver(LONG)));

        print(FakeDriver.handshake(socket()));
        assertEquals(new Running(MAIN, RUNNING.age(), true, null), seen(launched, Specs.driver(LONG)));
        print("what is no handshake is for the start to say\n");
        assertEquals(new Running(MAIN, RUNNING.age(), true, null), seen(launched, Specs.driver(LONG)));
        assertEquals(0, driver.plugin.connections.get());
    }

    @Test
    void aDriverThatCanRunTasksIsHealthy() {
        assertEquals(Health.healthy(NOW), asked());
        assertEquals(Health.healthy(NOW), asked());
        assertEquals(List.of("PluginInfo", "Init", "Fingerprint"), driver.calls());
        assertEquals(2, driver.plugin.count("Check"));
        assertEquals(1, driver.plugin.connections.get());
    }

    @Test
    void oneThatIsNotToBeAskedIsNot() {
        assertEquals(new Running(MAIN, RUNNING.age(), true, null), seen(started, null));
        assertEquals(0, driver.plugin.connections.get());
    }

    @Test
    void oneThatCanNotRunTasksIsNotIllForARestartWouldNotHelp() {
        driver.saying(FakeDriver.fingerprint(HealthState.UNDETECTED, "No Podman."));
        assertEquals(new Health(Verdict.HEALTHY, 2, ImmutableList.of("undetected: No Podman."), "", NOW), asked());

        driver.say(FakeDriver.fingerprint(HealthState.UNHEALTHY, "broken"));
        Awaitility.await()
                .atMost(LONG)
                .untilAsserted(() -> assertEquals(
                        new Health(Verdict.HEALTHY, 1, ImmutableList.of("unhealthy: broken"), "", NOW), asked()));
    }

    @Test
    void norIsOneThatSaysNothingOfItself() throws Exception {
        driver.saying();
        // To connect may take a busy machine as long as it is waited for.
        sessions.of(started).check(LONG);
        Health unknown = asked(Duration.ofSeconds(2));
        assertEquals(new Health(Verdict.HEALTHY, 3, unknown.results(), "", NOW), unknown);
        assertEquals(1, unknown.results().size());
        assertTrue(unknown.results().getFirst().startsWith("unknown: "), unknown::toString);
    }

    @Test
    void oneThatDoesNotAnswerHangs() {
        driver.plugin.hanging("PluginInfo");
        assertHung("PluginInfo ", asked(Duration.ofSeconds(1)));

        driver.plugin.recovering("PluginInfo");
        assertEquals(Health.healthy(NOW), asked());
        driver.plugin.hanging("Check");
        assertHung("its health check ", asked(Duration.ofSeconds(1)));
    }

    private static void assertHung(String call, Health health) {
        assertEquals(Verdict.HUNG, health.verdict());
        assertTrue(health.problem().startsWith(call) && health.problem().endsWith(" 1000 ms"), health.problem());
    }

    @Test
    void oneThatAnswersWithAnErrorIsUnhealthy() {
        driver.plugin.failing("Init", Status.INTERNAL.withDescription("no state directory"));
        assertEquals(Health.failed(Verdict.UNHEALTHY, "Init failed with INTERNAL: no state directory", NOW), asked());

        driver.plugin.recovering("Init");
        driver.plugin.serving(ServingStatus.NOT_SERVING);
        assertUnhealthy("NOT_SERVING", asked());
    }

    @Test
    void soIsOneAtWhoseSocketNobodyListens() throws Exception {
        driver.close();
        Files.deleteIfExists(socket());
        Files.createFile(socket());

        Health nobody = asked();
        assertEquals(Verdict.UNHEALTHY, nobody.verdict());
        assertTrue(nobody.problem().startsWith("PluginInfo failed with UNAVAILABLE"), nobody.problem());
    }

    @Test
    void oneThatIsNoDriverIsUnhealthyAndItIsSaidWhy() throws Exception {
        print("no handshake\n");
        assertUnhealthy("\"no handshake\"", asked());

        print("");
        assertUnhealthy("printed nothing", asked());
    }

    private static void assertUnhealthy(String part, Health health) {
        assertEquals(Verdict.UNHEALTHY, health.verdict());
        assertTrue(health.problem().contains(part), health.problem());
    }

    @Test
    void oneWhoseSocketIsGoneCanNotBeReachedByTheNextAgent() throws Exception {
        Files.delete(socket());

        assertEquals(
                new Running(
                        MAIN,
                        RUNNING.age(),
                        false,
                        Health.failed(Verdict.UNKNOWN, "its socket is gone, nobody can ask it", NOW),
                        ImmutableSet.of(Loss.SOCKET)),
                seen(started, Specs.driver(LONG)));
        assertNull(seen(started, null).health());
    }

    @Test
    void whatCanNotBeReadIsNotSaidToBeIll() throws Exception {
        Files.delete(launches.directory(started).outputFile());
        Files.createDirectory(launches.directory(started).outputFile());

        var unseen = assertInstanceOf(Observation.Unseen.class, health.of(started, RUNNING, Specs.driver(LONG)));
        assertTrue(unseen.why().startsWith("can't see what driver/raw-exec has printed: "), unseen.why());
        assertTrue(unseen.why().contains("output"), unseen.why());
    }

    @Test
    void whoeverAsksCanBeInterrupted() throws Exception {
        for (String call : List.of("PluginInfo", "Check")) {
            driver.plugin.hanging(call);
            long before = driver.plugin.count(call);
            FutureTask<Observation<Running>> asking = new FutureTask<>(() -> {
                Observation<Running> answer = health.of(started, RUNNING, Specs.driver(LONG));
                assertTrue(Thread.currentThread().isInterrupted());
                return answer;
            });
            Thread asker = Thread.ofVirtual().start(asking);
            Awaitility.await().atMost(LONG).until(() -> driver.plugin.count(call) == before + 1);
            asker.interrupt();

            assertEquals(Observation.unseen("interrupted while asking driver/raw-exec"), asking.get());
            driver.plugin.recovering(call);
        }
    }

    @Test
    void whenAllIsClosedNothingIsKnownOfADriver() {
        health.close();

        assertEquals(Verdict.UNKNOWN, asked().verdict());
    }

    @Test
    void aSessionLastsUntilItsLaunchHasEnded() throws Exception {
        DriverSession session = sessions.of(started);
        assertEquals(session, sessions.of(started));
        sessions.forgetEnded();
        assertEquals(session, sessions.of(started));

        proc.end(100);
        sessions.forgetEnded();
        DriverSession next = sessions.of(started);
        assertTrue(next != session);
        sessions.forget("l1");
        assertTrue(next != sessions.of(started));
        sessions.forget("unknown");
    }

    @Test
    void whatCanNotBeSeenMayRun() throws Exception {
        DriverSession session = sessions.of(started);
        proc.unreadable("100/stat");

        assertTrue(session.isAlive());
        sessions.forgetEnded();
        assertEquals(session, sessions.of(started));
    }

    @Test
    void theProcessOfALaunchIsKnownByItsOwnNoteToo() throws Exception {
        Instance unknown = launches.noted(Launches.instance(ID, "l1"), FakeProc.BOOT);
        assertEquals(MAIN, sessions.process(unknown));
        assertEquals(MAIN, sessions.process(started));
        assertNull(sessions.process(launches.noted(Launches.instance(ID, "l2"), FakeProc.BOOT)));
    }

    @Test
    void theSocketOfALaunchIsWhatItSays() throws Exception {
        assertEquals(socket(), sessions.socket(started));
        print("1|2|tcp|127.0.0.1:10000|grpc|\n");
        assertNull(sessions.socket(started));
        assertTrue(sessions.isReachable(started));
        print("no handshake\n");
        assertNull(sessions.socket(started));
    }
}
