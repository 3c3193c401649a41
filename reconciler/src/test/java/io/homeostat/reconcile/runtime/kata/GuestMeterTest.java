package io.homeostat.reconcile.runtime.kata;

import static io.homeostat.reconcile.runtime.kata.KataScene.GUEST;
import static io.homeostat.reconcile.runtime.kata.KataScene.container;
import static io.homeostat.reconcile.runtime.kata.KataScene.containerIdentity;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandbox;
import static io.homeostat.reconcile.runtime.kata.KataScene.sandboxIdentity;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.grpc.Status;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.SelfDescription;
import io.homeostat.observe.usage.Meter;
import io.homeostat.observe.usage.Meter.Measured;
import io.homeostat.observe.usage.Meter.Processes;
import io.homeostat.proto.kata.AgentDetails;
import io.homeostat.proto.kata.GuestDetailsResponse;
import io.homeostat.reconcile.runtime.kata.GuestMeter.Use;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What guests and containers use, as their agents count it, and what agents say of themselves. */
@Timeout(120)
class GuestMeterTest extends KataTestBed {
    /** The processes of this host, which nobody asks for. */
    private static final Processes NONE = (Processes) Proxy.newProxyInstance(
            Processes.class.getClassLoader(), new Class<?>[] {Processes.class}, (_, method, _) -> {
                throw new IllegalStateException(method.getName());
            });

    private Instance first;
    private Instance second;
    private final Queue<Runnable> questions = new ArrayDeque<>();
    private final List<Instance> asked = new ArrayList<>();
    private Optional<Use> answer = Optional.empty();

    @BeforeEach
    void setUp() throws Exception {
        first = scene.intended(sandbox(), "s-1");
        second = scene.intended(sandbox(), "s-2");
    }

    private GuestMeter meter() {
        return new GuestMeter(
                launch -> {
                    asked.add(launch);
                    return answer;
                },
                scene.timing(),
                questions::add);
    }

    private static Optional<Measured> measure(Meter meter, Instance... launches) throws Exception {
        return meter.measure(ImmutableList.copyOf(launches), Duration.ofSeconds(1), NONE);
    }

    /** The agent answers the question that is under way. */
    private void answer(long processorNanos, long memoryBytes) {
        answer = Optional.of(new Use(processorNanos, memoryBytes));
        questions.remove().run();
    }

    @Test
    void theFirstAnswerTellsOfMemoryAndTheNextOfTheTimeBetweenThem() throws Exception {
        GuestMeter meter = meter();
        assertEquals(Optional.empty(), measure(meter, first));
        scene.timing().advance(Duration.ofNanos(100));
        answer(5, 7);
        assertEquals(Optional.of(new Measured(0, null, 7)), measure(meter, first));
        scene.timing().advance(Duration.ofNanos(50));
        answer(9, 8);

        assertEquals(Optional.of(new Measured(50, 4L, 8)), measure(meter, first));
        assertEquals(List.of(first, first), asked);
    }

    @Test
    void whatWasToldAlreadyIsNotToldAgain() throws Exception {
        GuestMeter meter = meter();
        measure(meter, first);
        answer(5, 7);
        assertTrue(measure(meter, first).isPresent());

        assertEquals(Optional.empty(), measure(meter, first));
    }

    @Test
    void oneQuestionIsUnderWayAtATime() throws Exception {
        GuestMeter meter = meter();
        measure(meter, first);
        measure(meter, first);
        assertEquals(1, questions.size());

        answer(5, 7);
        measure(meter, first);

        assertEquals(1, questions.size());
    }

    @Test
    void aQuestionThatFailsIsNotTheLastOne() throws Exception {
        GuestMeter meter = new GuestMeter(
                launch -> {
                    throw new IllegalStateException("broken");
                },
                scene.timing(),
                questions::add);
        measure(meter, first);
        Runnable question = questions.remove();
        assertThrows(IllegalStateException.class, question::run);

        measure(meter, first);

        assertEquals(1, questions.size());
    }

    @Test
    void anAgentThatDoesNotTellIsMeasuredByNothing() throws Exception {
        GuestMeter meter = meter();
        measure(meter, first);
        questions.remove().run();

        assertEquals(Optional.empty(), measure(meter, first));
    }

    @Test
    void anotherLaunchIsMeasuredAnew() throws Exception {
        GuestMeter meter = meter();
        measure(meter, first);
        answer(5, 7);
        measure(meter, first);
        answer(9, 8);

        assertEquals(Optional.empty(), measure(meter, first, second), "the answer is of the first");
        answer(1, 3);
        assertEquals(Optional.of(new Measured(0, null, 3)), measure(meter, first, second));
    }

    @Test
    void aCountThatGoesBackIsNoTime() throws Exception {
        GuestMeter meter = meter();
        measure(meter, first);
        answer(5, 7);
        measure(meter, first);
        scene.timing().advance(Duration.ofNanos(50));
        answer(4, 7);

        assertEquals(Optional.of(new Measured(50, 0L, 7)), measure(meter, first));
    }

    private long memory(InstanceObserver observer, Instance instance) throws Exception {
        Meter meter = observer.meter(instance.workload()).orElseThrow();
        Optional<Measured>[] measured = newResult();
        KataScene.eventually().until(() -> {
            measured[0] = measure(meter, instance);
            return measured[0].isPresent();
        });
        return measured[0].orElseThrow().memoryBytes();
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Optional<Measured>[] newResult() {
        return new Optional[1];
    }

    private SandboxObserver sandboxes() {
        return new SandboxObserver(scene.machine(), scene.guests(scene.machine(), Kind.SANDBOX));
    }

    @Test
    void aSandboxUsesWhatItsGuestUses() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.agent().tellMetrics("""
                kata_guest_cpu_time{cpu="total",item="user"} 7
                kata_guest_meminfo{item="mem_available"} 40
                kata_guest_meminfo{item="mem_total"} 100
                """);

        assertEquals(60, memory(sandboxes(), instance));
    }

    private void assertNotMeasured(Instance instance) {
        Meter meter = sandboxes().meter(GUEST).orElseThrow();
        int before = scene.guest().count("GetMetrics");
        // By the third question the answer to the first was there to be told.
        KataScene.eventually().until(() -> {
            assertEquals(Optional.empty(), measure(meter, instance));
            return scene.guest().count("GetMetrics") >= before + 3;
        });
    }

    @Test
    void aGuestThatTellsOnlyHalfIsNotMeasured() throws Exception {
        Instance instance = scene.runningSandbox();
        scene.agent().tellMetrics("kata_guest_cpu_time{cpu=\"total\",item=\"user\"} 7\n");
        assertNotMeasured(instance);

        scene.agent()
                .tellMetrics(
                        "kata_guest_meminfo{item=\"mem_available\"} 40\nkata_guest_meminfo{item=\"mem_total\"} 100\n");
        assertNotMeasured(instance);
    }

    @ParameterizedTest
    @CsvSource({"77, 77", "-1, 9223372036854775807"})
    void aContainerUsesWhatItsControlGroupCountsWithoutASign(long counted, long shown) throws Exception {
        scene.runningSandbox();
        Instance instance = scene.runningContainer(container());
        scene.app().count(stats -> {
            stats.getCpuStatsBuilder().getCpuUsageBuilder().setTotalUsage(9);
            stats.getMemoryStatsBuilder().getUsageBuilder().setUsage(counted);
        });
        ContainerObserver observer =
                scene.closed(new ContainerObserver(scene.machine(), scene.containers(scene.machine())));

        assertEquals(shown, memory(observer, instance));
    }

    @Test
    void aGuestDescribesItself() throws Exception {
        scene.runningSandbox();
        scene.agent()
                .tellDetails(GuestDetailsResponse.newBuilder()
                        .setMemBlockSizeBytes(128 << 20)
                        .setAgentDetails(AgentDetails.newBuilder()
                                .setVersion("4.1.0")
                                .setInitDaemon(true)
                                .setSupportsSeccomp(true)
                                .addStorageHandlers("blk")
                                .addStorageHandlers("local")
                                .addExtraFeatures("guest-pull"))
                        .build());

        SelfDescription description = sandboxes().describe(GUEST).orElseThrow();

        assertEquals("guest", description.name());
        assertEquals("4.1.0", description.json().get("agentVersion").asText());
        assertTrue(description.json().get("isInit").asBoolean());
        assertTrue(description.json().get("seccomp").asBoolean());
        assertEquals(128 << 20, description.json().get("memoryBlockBytes").asInt());
        assertEquals(
                "[\"blk\",\"local\"]", description.json().get("storageHandlers").toString());
        assertEquals("[]", description.json().get("deviceHandlers").toString());
        assertEquals("[\"guest-pull\"]", description.json().get("features").toString());
        String lines = String.join("\n", description.sections().getFirst().lines());
        assertTrue(lines.contains("128 MiB"), lines);
        assertTrue(lines.contains("blk, local"), lines);
        assertFalse(lines.contains("devices"), lines);
    }

    @Test
    void aGuestThatKnowsLittleSaysLittle() throws Exception {
        scene.runningSandbox();

        SelfDescription description = sandboxes().describe(GUEST).orElseThrow();

        assertFalse(description.json().get("isInit").asBoolean());
        assertFalse(description.json().get("seccomp").asBoolean());
        assertEquals(2, description.sections().getFirst().lines().size());
    }

    @Test
    void aGuestThatDoesNotDescribeItselfHasAProblem() throws Exception {
        scene.runningSandbox();
        scene.guest().refuse("GetGuestDetails", Status.INTERNAL);

        SelfDescription description = sandboxes().describe(GUEST).orElseThrow();

        assertFalse(description.json().get("problem").asText().isEmpty());
        assertEquals(1, description.sections().getFirst().lines().size());
    }

    @Test
    void theNewestLaunchThatIsNotOverDescribesItself() throws Exception {
        assertEquals(Optional.empty(), sandboxes().describe(GUEST));
        scene.remember(scene.intended(sandbox(), "none"));
        assertEquals(Optional.empty(), sandboxes().describe(GUEST), "no guest was asked for it");

        scene.setNow(KataScene.START.plusSeconds(1));
        Instance later = scene.launched(sandbox(), "later", sandboxIdentity(0));
        assertTrue(sandboxes().describe(GUEST).isPresent());

        scene.remember(later.withPhase(Phase.ENDED, ""));
        assertEquals(Optional.empty(), sandboxes().describe(GUEST));
    }

    @Test
    void whatIsNotMadeYetUsesNothing() throws Exception {
        scene.runningSandbox();
        Instance half =
                scene.launched(sandbox(), "s-2", new Identity.Sandbox(KataScene.ENDPOINT, 0, false, KataScene.BOOT));
        Instance unstarted = scene.launched(container(), "c-2", containerIdentity(false));
        ContainerObserver containers =
                scene.closed(new ContainerObserver(scene.machine(), scene.containers(scene.machine())));

        assertEquals(Optional.empty(), measure(sandboxes().meter(GUEST).orElseThrow(), half));
        assertEquals(
                Optional.empty(), measure(containers.meter(unstarted.workload()).orElseThrow(), unstarted));
        assertEquals(0, scene.guest().methods().size());
    }
}
