package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.START;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.containerIdentity;
import static io.homeostat.reconcile.runtime.kata.KataScene.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.grpc.Status;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.guest.ContainerSettings.InPlace;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.ObservedInstance.Deviation;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.ExecProcessRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a container is: by a command in it, by its limits, and by the answers that it cannot give. */
@Timeout(120)
class ContainerHealthTest extends ContainerTestBed {
    private static final Duration OLD = Duration.ofMinutes(1);
    private static final String PROBE = "probe: {exec: {command: [check, --all]}}";
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String TIMEOUT = "health: {timeout: 60s}";
    private static final long PAGE = 64 << 10;
    private static final long LIMIT = 64 << 20;

    private ContainerProbes probes;

    @BeforeEach
    void setUp() throws Exception {
        probes = scene.closed(new ContainerProbes(scene.machine(), containers));
    }

    private Health ask(Workload declared, Duration age, boolean frozen) throws Exception {
        Instance instance = scene.runningContainer(declared);
        return probes.ask(
                instance,
                new Liveness.Running(containerIdentity(true), age, true, null),
                (ContainerSpec) declared.spec(),
                frozen);
    }

    /** The answer while a test plays the command of the probe. */
    private Health asked(Workload declared, Duration age, Runnable play) throws Exception {
        try (var other = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<Health> health = other.submit(() -> ask(declared, age, false));
            eventually().until(() -> guest.count("ReadStderr") == 1 && guest.count("ReadStdout") == 1);
            play.run();
            return health.get();
        }
    }

    private MemoryProcess command() {
        return scene.app().command();
    }

    @Test
    void aContainerWithoutAProbeIsHealthy() throws Exception {
        assertEquals(Health.healthy(START), ask(container(), Duration.ZERO, false));
    }

    @Test
    void aFrozenContainerIsNotAsked() throws Exception {
        assertEquals(Health.healthy(START), ask(container(PROBE, TIMEOUT), Duration.ZERO, true));
        assertEquals(0, guest.methods().size());
    }

    @Test
    void aCommandThatSucceedsShowsThatItIsHealthy() throws Exception {
        Health health = asked(container(PROBE, TIMEOUT), OLD, () -> command().exit(0));

        assertEquals(Health.healthy(START), health);
        ExecProcessRequest request = guest.requests(ExecProcessRequest.class).getFirst();
        assertEquals(List.of("check", "--all"), request.getProcess().getArgsList());
        assertEquals(0, guest.count("SignalProcess"));
    }

    @Test
    void aCommandThatFailsShowsThatItIsNotAndSaysWhy() throws Exception {
        Health health = asked(container(PROBE, TIMEOUT), OLD, () -> {
            command().printError("no disk");
            command().exit(2);
        });

        assertEquals(Verdict.UNHEALTHY, health.verdict());
        assertTrue(health.problem().contains("no disk"), health::problem);
    }

    @Test
    void secretsOfTheContainerAreNotSaid() throws Exception {
        Health health = asked(container(PROBE, TIMEOUT, "env: {PASSWORD: hunter2hunter2}"), OLD, () -> {
            command().print("wrong hunter2hunter2");
            command().exit(2);
        });

        assertFalse(health.problem().contains("hunter2"), health::problem);
    }

    @Test
    void whatHasJustBegunIsNotHealthyYet() throws Exception {
        assertEquals(
                Verdict.UNKNOWN,
                asked(
                                container(PROBE, TIMEOUT),
                                Duration.ofMillis(999),
                                () -> command().exit(0))
                        .verdict());
    }

    @Test
    void whatHasLivedForASecondMayBeHealthy() throws Exception {
        assertEquals(
                Verdict.HEALTHY,
                asked(
                                container(PROBE, TIMEOUT),
                                Duration.ofSeconds(1),
                                () -> command().exit(0))
                        .verdict());
    }

    @Test
    void whatHasJustBegunAndFailsIsUnhealthyAtOnce() throws Exception {
        assertEquals(
                Verdict.UNHEALTHY,
                asked(container(PROBE, TIMEOUT), Duration.ZERO, () -> command().exit(1))
                        .verdict());
    }

    @Test
    void aCommandThatDoesNotEndInTimeHangsAndIsKilled() throws Exception {
        guest.atNext("ExecProcess", () -> scene.timing().advance(PATIENCE.minusMillis(1)));

        assertEquals(Verdict.HUNG, ask(container(PROBE, TIMEOUT), OLD, false).verdict());
        eventually().until(() -> guest.count("SignalProcess") == 1);
    }

    @Test
    void aCommandThatTakesTooLongToBeginIsNoFaultOfTheContainer() throws Exception {
        guest.atNext("ExecProcess", () -> scene.timing().advance(PATIENCE));

        assertEquals(
                Verdict.DEGRADED, ask(container(PROBE, TIMEOUT), OLD, false).verdict());
        eventually().until(() -> guest.count("SignalProcess") == 1);
    }

    @Test
    void aCommandThatIsRefusedIsOne() throws Exception {
        guest.refuse("ExecProcess", Status.INTERNAL, "no such program");

        assertEquals(
                Verdict.UNHEALTHY, ask(container(PROBE, TIMEOUT), OLD, false).verdict());
    }

    @Test
    void aGuestThatHasTooMuchToDoIsNoFaultOfTheContainer() throws Exception {
        guest.refuse("ExecProcess", Status.RESOURCE_EXHAUSTED, "too many commands");

        assertEquals(
                Verdict.DEGRADED, ask(container(PROBE, TIMEOUT), OLD, false).verdict());
    }

    @Test
    void aGuestThatDoesNotAnswerIsNoFaultOfTheContainer() throws Exception {
        guest.silence("ExecProcess");
        assertEquals(
                Verdict.DEGRADED, ask(container(PROBE, TIMEOUT), OLD, false).verdict());

        guest.vanish(Reason.NO_ANSWER);
        assertEquals(
                Verdict.DEGRADED, ask(container(PROBE, TIMEOUT), OLD, false).verdict());
    }

    @Test
    void aConnectionThatBreaksIsNoFaultOfTheContainer() throws Exception {
        assertEquals(
                Verdict.DEGRADED,
                asked(container(PROBE, TIMEOUT), OLD, guest::breakConnections).verdict());
    }

    @Test
    void probesOfAnotherWayAskFromThisMachine() throws Exception {
        Health health =
                ask(container("probe: {tcp: {address: \"127.0.0.1:1\"}}", "health: {timeout: 10s}"), OLD, false);

        assertEquals(Verdict.UNHEALTHY, health.verdict());
        assertEquals(0, guest.methods().size());
    }

    private static InPlace given(String... fields) {
        return ((ContainerSpec) container(fields).spec()).inPlace();
    }

    private static CgroupStats counted(long memory, long pids) {
        CgroupStats.Builder stats = CgroupStats.newBuilder();
        stats.getMemoryStatsBuilder().getUsageBuilder().setLimit(memory);
        stats.getPidsStatsBuilder().setLimit(pids);
        return stats.build();
    }

    private static int repairable(long memory) {
        return ContainerObserver.deviation(given("limits: {memory: 64Mi}"), counted(memory, 0))
                .repairable()
                .size();
    }

    @Test
    void aLimitOfMemoryIsComparedInWholePages() {
        assertEquals(0, repairable(LIMIT));
        assertEquals(0, repairable(LIMIT - PAGE + 1));
        assertEquals(0, repairable(LIMIT + PAGE - 1));
        assertEquals(1, repairable(LIMIT - PAGE));
        assertEquals(1, repairable(LIMIT + PAGE));
        assertEquals(0, repairable(0), "an agent that does not know says so");
        assertEquals(1, repairable(-1));
    }

    @Test
    void noLimitIsSaidInPlaceOfItsNumber() {
        for (long none : List.of(-1L, Long.MAX_VALUE, Long.MAX_VALUE - PAGE * 2 + 1)) {
            assertTrue(ContainerObserver.deviation(given("limits: {memory: 64Mi}"), counted(none, 0))
                    .repairable()
                    .getFirst()
                    .contains("unlimited"));
        }
        assertFalse(ContainerObserver.deviation(given("limits: {memory: 64Mi}"), counted(Long.MAX_VALUE - PAGE * 2, 0))
                .repairable()
                .getFirst()
                .contains("unlimited"));
    }

    @Test
    void whatIsNotDeclaredDoesNotDiffer() {
        assertEquals(Deviation.NONE, ContainerObserver.deviation(given(), counted(LIMIT, 7)));
    }

    @Test
    void whatNoAgentRepairsIsOnlyRemarked() {
        assertEquals(
                ImmutableList.of(),
                ContainerObserver.deviation(given("limits: {pids: 20}"), counted(0, 20))
                        .remarks());
        for (long pids : List.of(0L, 19L)) {
            Deviation deviation = ContainerObserver.deviation(given("limits: {pids: 20}"), counted(0, pids));
            assertEquals(1, deviation.remarks().size());
            assertEquals(ImmutableList.of(), deviation.repairable());
        }
        assertEquals(
                1,
                ContainerObserver.deviation(given("frozen: true"), counted(0, 0))
                        .remarks()
                        .size());
    }
}
