package io.homeostat.observe.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.Empty;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.observe.Observation;
import io.homeostat.observe.guest.GuestProbes.Responsiveness;
import io.homeostat.observe.ttrpc.SocketAcceptor;
import io.homeostat.observe.ttrpc.TtrpcServer;
import io.homeostat.proto.kata.AgentServiceGrpc.AgentServiceImplBase;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.CheckRequest;
import io.homeostat.proto.kata.GetMetricsRequest;
import io.homeostat.proto.kata.HealthCheckResponse;
import io.homeostat.proto.kata.HealthGrpc.HealthImplBase;
import io.homeostat.proto.kata.Metrics;
import io.homeostat.proto.kata.PidsStats;
import io.homeostat.proto.kata.StatsContainerRequest;
import io.homeostat.proto.kata.StatsContainerResponse;
import io.homeostat.proto.kata.UpdateContainerRequest;
import io.homeostat.proto.kata.VolumeStatsRequest;
import io.homeostat.proto.kata.VolumeStatsResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Each thing that is asked of a guest, when it is there, when it isn't, and when the guest does not say. */
@Timeout(120)
class GuestProbesTest {
    /** Long enough for an answer on a busy machine. */
    private static final Duration LONG = Duration.ofSeconds(60);

    @TempDir
    Path root;

    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(1);
    /** Processes by container. */
    private final Map<String, Long> containers = new ConcurrentHashMap<>();

    private final Set<String> files = ConcurrentHashMap.newKeySet();
    private final CountDownLatch lock = new CountDownLatch(1);
    private boolean locked;
    private boolean lookUpIsDenied;
    private String metrics = "";
    private final AtomicReference<@Nullable Status> refusal = new AtomicReference<>();
    private TtrpcServer server;
    private GuestConnection connection;

    /** Answers as the real one does. */
    private final class Agent extends AgentServiceImplBase {
        private <A> void answer(StreamObserver<A> answers, A answer, @Nullable Status otherwise) {
            if (locked) {
                Uninterruptibles.awaitUninterruptibly(lock);
            }
            Status status = refusal.get() == null ? otherwise : refusal.get();
            if (status == null) {
                answers.onNext(answer);
                answers.onCompleted();
            } else {
                answers.onError(status.asRuntimeException());
            }
        }

        private @Nullable Status unknown(String container) {
            return containers.containsKey(container)
                    ? null
                    : Status.INVALID_ARGUMENT.withDescription("\"invalid container id\"");
        }

        @Override
        public void updateContainer(UpdateContainerRequest request, StreamObserver<Empty> answers) {
            assertEquals(false, request.hasResources());
            if (lookUpIsDenied) {
                answers.onError(Status.PERMISSION_DENIED.asRuntimeException());
                return;
            }
            answer(answers, Empty.getDefaultInstance(), unknown(request.getContainerId()));
        }

        @Override
        public void statsContainer(StatsContainerRequest request, StreamObserver<StatsContainerResponse> answers) {
            answer(
                    answers,
                    StatsContainerResponse.newBuilder()
                            .setCgroupStats(CgroupStats.newBuilder()
                                    .setPidsStats(PidsStats.newBuilder()
                                            .setCurrent(containers.getOrDefault(request.getContainerId(), 0L))))
                            .build(),
                    unknown(request.getContainerId()));
        }

        @Override
        public void getVolumeStats(VolumeStatsRequest request, StreamObserver<VolumeStatsResponse> answers) {
            answer(
                    answers,
                    VolumeStatsResponse.getDefaultInstance(),
                    files.contains(request.getVolumeGuestPath())
                            ? null
                            : Status.INTERNAL.withDescription(
                                    "Os { code: 2, kind: NotFound, message: \"No such file or directory\" }"));
        }

        @Override
        public void getMetrics(GetMetricsRequest request, StreamObserver<Metrics> answers) {
            answer(answers, Metrics.newBuilder().setMetrics(metrics).build(), null);
        }
    }

    private static final class Health extends HealthImplBase {
        @Override
        public void check(CheckRequest request, StreamObserver<HealthCheckResponse> answers) {
            answers.onNext(HealthCheckResponse.getDefaultInstance());
            answers.onCompleted();
        }
    }

    @BeforeEach
    void setUp() throws IOException {
        server = new TtrpcServer(
                new SocketAcceptor(root.resolve("agent.sock")),
                timer,
                List.of(new Agent().bindService(), new Health().bindService()));
        server.start();
        connection = new GuestConnection(
                new GuestEndpoint.Unix(root.resolve("agent.sock").toString()),
                new GuestDialer(timer)::connect,
                timer,
                System::nanoTime,
                new Random());
    }

    @AfterEach
    void tearDown() {
        lock.countDown();
        connection.close();
        server.close();
        timer.shutdownNow();
    }

    private GuestProbes probes() {
        return new GuestProbes(connection, LONG);
    }

    private static <T> String why(Observation<T> observation) {
        return assertInstanceOf(Observation.Unseen.class, observation).why();
    }

    private Observation<Optional<Long>> processes(String id) {
        return probes().usage(id)
                .map(known -> known.map(usage -> usage.getPidsStats().getCurrent()));
    }

    @Test
    void aContainerIsThereOrNotAndHasProcessesOrNone() {
        containers.put("app", 3L);
        containers.put("created", 0L);

        assertEquals(Observation.seen(true), probes().hasContainer("app"));
        assertEquals(Observation.seen(true), probes().hasContainer("created"));
        assertEquals(Observation.seen(false), probes().hasContainer("other"));
        assertEquals(Observation.seen(Optional.of(3L)), processes("app"));
        assertEquals(Observation.seen(Optional.of(0L)), processes("created"));
        assertEquals(Observation.seen(Optional.empty()), processes("other"));
    }

    @Test
    void aSandboxAndTheStartOfAContainerAreSeenByTheirFiles() {
        files.add("/run/sandbox-ns/ipc");
        files.add("/run/kata-containers/app/exec.fifo");

        assertEquals(Observation.seen(true), probes().hasSandbox());
        assertEquals(Observation.seen(true), probes().freeStart("app"));
        assertEquals(Observation.seen(false), probes().freeStart("other"));
        files.clear();
        assertEquals(Observation.seen(false), probes().hasSandbox());
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "none",
            value = {"7, 7", "7.0, 7", "none, none", "-1, none", "nonsense, none", "99999999999999999999, none"})
    void anAgentThatCountsTellsHowOftenItWasAsked(@Nullable String counted, @Nullable Long expected) {
        metrics = "# HELP kata_agent_scrape_count Metrics scrape count\nkata_agent_io_stat{item=\"rchar\"} 1\n"
                + (counted == null ? "" : "kata_agent_scrape_count " + counted + "\n");

        assertEquals(
                Observation.seen(expected == null ? OptionalLong.empty() : OptionalLong.of(expected)),
                probes().scrapes());
    }

    @Test
    void anAgentWhoseLockIsHeldIsBlockedAndNoOtherIs() {
        assertEquals(Observation.seen(Responsiveness.SERVING), probes().responsiveness());

        locked = true;

        assertEquals(
                Observation.seen(Responsiveness.BLOCKED),
                new GuestProbes(connection, Duration.ofSeconds(3)).responsiveness());
        locked = false;
        assertEquals(Observation.seen(Responsiveness.SERVING), probes().responsiveness());
    }

    @Test
    void whereAPolicyForbidsToLookOneUpItsStatisticsAreAskedFor() {
        lookUpIsDenied = true;
        assertEquals(Observation.seen(Responsiveness.SERVING), probes().responsiveness());

        locked = true;

        assertEquals(
                Observation.seen(Responsiveness.BLOCKED),
                new GuestProbes(connection, Duration.ofSeconds(3)).responsiveness());
    }

    @Test
    void whatAPolicyForbidsIsAnAnswerAndTellsNothing() {
        refusal.set(Status.PERMISSION_DENIED.withDescription("blocked by policy"));

        assertEquals(Observation.seen(Responsiveness.SERVING), probes().responsiveness());
        assertEquals("UpdateContainer: blocked by policy", why(probes().hasContainer("app")));
        assertEquals("GetVolumeStats: blocked by policy", why(probes().hasSandbox()));
    }

    @ParameterizedTest
    @CsvSource({
        "INTERNAL, something else",
        "NOT_FOUND, /grpc.AgentService/X is not supported",
    })
    void aRefusalTellsNothing(Status.Code code, String words) {
        refusal.set(code.toStatus().withDescription(words));

        assertEquals("UpdateContainer: " + words, why(probes().hasContainer("app")));
        assertEquals("UpdateContainer: " + words, why(probes().responsiveness()));
        assertEquals("GetVolumeStats: " + words, why(probes().hasSandbox()));
        assertEquals("StatsContainer: " + words, why(probes().usage("app")));
        assertEquals("GetMetrics: " + words, why(probes().scrapes()));
    }

    @Test
    void silenceTellsNothing() {
        locked = true;
        GuestProbes impatient = new GuestProbes(connection, Duration.ofMillis(100));

        assertEquals("UpdateContainer was not answered within 100 ms", why(impatient.hasContainer("app")));
        String sandbox = why(impatient.hasSandbox());
        assertTrue(sandbox.startsWith("GetVolumeStats ") && sandbox.endsWith(" 100 ms"), sandbox);
    }

    @Test
    void aGuestThatCanNotBeReachedTellsWhy() throws IOException {
        server.close();
        Files.delete(root.resolve("agent.sock"));

        String why = why(probes().hasContainer("app"));
        assertTrue(
                why.startsWith("unix://" + root.resolve("agent.sock") + ": there is no " + root.resolve("agent.sock")),
                why);
    }
}
