package io.homeostat.observe;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.ProbeHealth;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.Launches;
import io.homeostat.observe.process.PortOwners;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whose answer to a probe counts; what answers is this JVM. */
class TakenPortTest {
    private static final Instant NOW = Instant.parse("2026-11-20T13:00:00Z");
    private static final ProcFs PROC = new ProcFs();
    private static final long SELF = ProcessHandle.current().pid();

    @TempDir
    Path root;

    private @Nullable ProbeHealth probes;

    @AfterEach
    void tearDown() {
        if (probes != null) {
            probes.close();
        }
    }

    @Test
    void anAnswerOfAProcessOfTheWorkloadCounts() throws Exception {
        try (ServerSocket server = listening("127.0.0.1")) {
            Running ours = running(SELF, Duration.ZERO);
            assertEquals(Health.healthy(NOW), answer(server, "127.0.0.1", ours));
        }
        try (ServerSocket server = listening("0.0.0.0")) {
            Running ours = running(SELF, Duration.ZERO);
            assertEquals(Health.healthy(NOW), answer(server, "localhost", ours));
        }
    }

    @Test
    void anAnswerOfAnotherProcessDoesNotCountAndNamesIt() throws Exception {
        Process workload = new ProcessBuilder("sleep", "1000").start();
        try (ServerSocket server = listening("127.0.0.1")) {
            String name = PROC.stat(SELF).orElseThrow().name();

            Health health = answer(server, "127.0.0.1", running(workload.pid(), Duration.ofHours(1)));

            assertEquals(
                    Health.failed(
                            Verdict.UNHEALTHY,
                            "its port is taken: 127.0.0.1:" + server.getLocalPort() + " is answered by process "
                                    + SELF + " (" + name
                                    + "), which is none of its own; end that, or let one of the two listen elsewhere",
                            NOW),
                    health);
        } finally {
            workload.destroyForcibly().waitFor();
        }
    }

    /** A stranger who stops listening as soon as the question is there, and answers it then. */
    @Test
    void anAnswerOfAProcessThatNoLongerListensDoesNotCount() throws Exception {
        Process workload = new ProcessBuilder("sleep", "1000").start();
        try (ServerSocket server = listening("127.0.0.1")) {
            Thread stranger = Thread.ofVirtual().start(() -> {
                try (Socket connection = server.accept()) {
                    server.close();
                    connection.getOutputStream().write("HTTP/1.1 200 OK\r\n\r\n".getBytes(US_ASCII));
                    connection.shutdownOutput();
                    connection.getInputStream().readAllBytes();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            Probe http = new Probe(new Probe.Http("http://127.0.0.1:" + server.getLocalPort() + "/"), null, null, null);

            Health health = answer(http, running(workload.pid(), Duration.ofHours(1)));

            // Or it is only seen that the connection was closed.
            assertEquals(Verdict.UNHEALTHY, health.verdict(), health::toString);
            stranger.join();
        } finally {
            workload.destroyForcibly().waitFor();
        }
    }

    @Test
    void anAnswerOverGrpcCountsWhenItIsOfAProcessOfTheWorkload() throws Exception {
        Process workload = new ProcessBuilder("sleep", "1000").start();
        HealthStatusManager health = new HealthStatusManager();
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .addService(health.getHealthService())
                .build()
                .start();
        try {
            Probe grpc = new Probe(null, null, null, new Probe.Grpc("127.0.0.1:" + server.getPort(), ""));

            assertEquals(Health.healthy(NOW), answer(grpc, running(SELF, Duration.ZERO)));
            assertEquals(
                    Verdict.UNHEALTHY,
                    answer(grpc, running(workload.pid(), Duration.ofHours(1))).verdict());
        } finally {
            server.shutdownNow().awaitTermination();
            workload.destroyForcibly().waitFor();
        }
    }

    @Test
    void whereNobodyCanTellWhoAnswersTheProcessHasToStayAliveForAWhile() throws Exception {
        // A process that is gone: what it has open, and in which network it is, can't be seen.
        Process gone = new ProcessBuilder("true").start();
        gone.waitFor();
        try (ServerSocket server = listening("127.0.0.1")) {
            assertEquals(
                    Verdict.UNKNOWN,
                    answer(server, "127.0.0.1", running(gone.pid(), Duration.ofMillis(999)))
                            .verdict());
            assertEquals(Health.healthy(NOW), answer(server, "127.0.0.1", running(gone.pid(), Duration.ofSeconds(1))));
        }
    }

    private static ServerSocket listening(String address) throws IOException {
        return new ServerSocket(0, 50, InetAddress.getByName(address));
    }

    private static Running running(long pid, Duration age) throws IOException {
        long start = PROC.stat(pid).map(ProcFs.Stat::startTicks).orElse(0L);
        return new Running(new ProcessIdentity(pid, start, PROC.bootId()), age, true, null);
    }

    private Health answer(ServerSocket server, String host, Running running) {
        return answer(new Probe(null, new Probe.Tcp(host + ":" + server.getLocalPort()), null, null), running);
    }

    private Health answer(Probe probe, Running running) {
        if (probes != null) {
            probes.close();
        }
        Layout layout = new Layout(root.resolve("s"), root.resolve("r"), "i");
        probes = new ProbeHealth(() -> NOW, new PortOwners(layout, PROC, new LimitObserver(CgroupLayout.NONE)));
        Instance instance = Launches.instance(WorkloadId.process("web"), "l1");
        Observation<Running> seen =
                probes.of(instance, running, Specs.process(probe).of(instance));
        Running known = (Running) assertInstanceOf(Observation.Seen.class, seen).value();
        return Objects.requireNonNull(known.health());
    }
}
