package io.homeostat.observe.health;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.sun.net.httpserver.HttpServer;
import io.grpc.Server;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.Specs;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.ProbeHealth.Names;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.Launches;
import io.homeostat.observe.process.PortOwners;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class ProbesTest {
    private static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(300);

    @TempDir
    Path root;

    private static final PortOwners OWNERS = new PortOwners(
            new Layout(Path.of("/no/state"), Path.of("/no/run"), "i"),
            new ProcFs(),
            new LimitObserver(CgroupLayout.NONE));

    private final ProbeHealth probes = new ProbeHealth(() -> NOW, OWNERS);

    @AfterEach
    void tearDown() {
        probes.close();
    }

    private static Probe http(String url) {
        return new Probe(new Probe.Http(url), null, null, null);
    }

    private static Probe tcp(String address) {
        return new Probe(null, new Probe.Tcp(address), null, null);
    }

    private static Probe exec(String... command) {
        return new Probe(null, null, new Probe.Exec(ImmutableList.copyOf(command)), null);
    }

    private static Probe grpc(String address, String service) {
        return new Probe(null, null, null, new Probe.Grpc(address, service));
    }

    private static ServerSocket listen() throws IOException {
        return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    private static Health unhealthy(String problem) {
        return Health.failed(Verdict.UNHEALTHY, problem, NOW);
    }

    @ParameterizedTest
    @CsvSource({"200,true", "204,true", "301,true", "399,true", "400,false", "404,false", "500,false", "503,false"})
    void httpIsHealthyFrom200To399(int status, boolean healthy) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        AtomicInteger followed = new AtomicInteger();
        server.createContext("/health", exchange -> {
            exchange.getResponseHeaders().add("Location", "/elsewhere");
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        server.createContext("/elsewhere", exchange -> {
            followed.incrementAndGet();
            exchange.sendResponseHeaders(500, -1);
            exchange.close();
        });
        server.start();
        try {
            String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/health";
            Health expected =
                    healthy ? Health.healthy(NOW) : unhealthy("GET " + url + "?... was answered with status " + status);
            assertEquals(expected, probes.ask(http(url + "?token=secret"), LONG));
            assertEquals(0, followed.get());
        } finally {
            server.stop(0);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n', ''",
        "'HTTP/1.0 200', ''",
        "'220 mail.example ESMTP\r\n', was answered with something that is not HTTP",
        "'HTTP/1.1 100 Continue\r\n\r\n', failed: the connection ended before the answer"
    })
    void theFinalStatusOfHttpCounts(String said, String problem) throws Exception {
        try (ServerSocket server = listen()) {
            Thread answering = Thread.ofVirtual().start(() -> {
                try (Socket socket = server.accept()) {
                    socket.getOutputStream().write(said.getBytes(StandardCharsets.UTF_8));
                    socket.shutdownOutput();
                    socket.getInputStream().readAllBytes();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            String url = "http://127.0.0.1:" + server.getLocalPort();
            assertEquals(
                    problem.isEmpty() ? Health.healthy(NOW) : unhealthy("GET " + url + " " + problem),
                    probes.ask(http(url), LONG));
            answering.join();
        }
    }

    @Test
    void httpThatNobodyServesIsUnhealthy() {
        String url = "http://127.0.0.1:1/";
        assertEquals(unhealthy("GET " + url + " failed: Connection refused"), probes.ask(http(url), LONG));
    }

    @Test
    void httpFromAHostThatNobodyKnowsIsUnhealthy() {
        Health health = probes.ask(http("http://no-such-host.invalid/"), LONG);
        assertEquals(
                unhealthy("GET http://no-such-host.invalid/ failed: the host no-such-host.invalid is not known"),
                health);
    }

    @Test
    void whatListensWithoutTlsIsToldSo() throws Exception {
        try (ServerSocket server = listen()) {
            Thread answering = Thread.ofVirtual().start(() -> {
                try (Socket socket = server.accept()) {
                    socket.getOutputStream().write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.UTF_8));
                    socket.getInputStream().readAllBytes();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            String url = "https://127.0.0.1:" + server.getLocalPort() + "/";
            assertEquals(
                    unhealthy("GET " + url
                            + " failed: the answer is not TLS; write http:// where it listens without TLS"),
                    probes.ask(http(url), LONG));
            answering.join();
        }
    }

    @Test
    void whoTurnsTlsDownIsNotToldToDoWithoutIt() throws Exception {
        // A fatal alert, handshake_failure (RFC 8446, 6.2).
        byte[] alert = {21, 3, 3, 0, 2, 2, 40};
        try (ServerSocket server = listen()) {
            Thread answering = Thread.ofVirtual().start(() -> {
                try (Socket socket = server.accept()) {
                    socket.getOutputStream().write(alert);
                    socket.getInputStream().readAllBytes();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            String url = "https://127.0.0.1:" + server.getLocalPort() + "/";
            assertEquals(
                    unhealthy("GET " + url + " failed: (handshake_failure) Received fatal alert: handshake_failure"),
                    probes.ask(http(url), LONG));
            answering.join();
        }
    }

    @Test
    void httpThatDoesNotAnswerHangs() throws Exception {
        try (ServerSocket mute = listen()) {
            String url = "http://127.0.0.1:" + mute.getLocalPort() + "/";
            assertEquals(
                    Health.failed(Verdict.HUNG, "GET " + url + " was not answered within 300 ms", NOW),
                    probes.ask(http(url), SHORT));
        }
    }

    @Test
    void httpThatTricklesItsAnswerHangsToo() throws Exception {
        try (ServerSocket server = listen();
                ScheduledExecutorService trickle = Executors.newSingleThreadScheduledExecutor()) {
            Future<Socket> connected = trickle.submit(() -> {
                Socket peer = server.accept();
                OutputStream out = peer.getOutputStream();
                Future<?> _ = trickle.scheduleWithFixedDelay(() -> trickle(out), 0, 50, TimeUnit.MILLISECONDS);
                return peer;
            });
            assertEquals(
                    Verdict.HUNG,
                    probes.ask(http("http://127.0.0.1:" + server.getLocalPort() + "/"), SHORT)
                            .verdict());
            // Fails when nobody has asked; on a loaded machine it may be accepted only after the probe has given up.
            connected.get(LONG.toSeconds(), TimeUnit.SECONDS).close();
        }
    }

    /** Once the probe has given up and closed, there is nobody to write to, and this ends. */
    private static void trickle(OutputStream out) {
        try {
            out.write('x');
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void tcpIsHealthyWhenItConnects() throws Exception {
        try (ServerSocket server = listen()) {
            assertEquals(Health.healthy(NOW), probes.ask(tcp("127.0.0.1:" + server.getLocalPort()), LONG));
            assertEquals(Health.healthy(NOW), probes.ask(tcp("localhost:" + server.getLocalPort()), LONG));
        }
        assertEquals(
                unhealthy("connecting to 127.0.0.1:1 failed: Connection refused"),
                probes.ask(tcp("127.0.0.1:1"), LONG));
        assertUnhealthy(probes.ask(tcp("no-such-host.invalid:1"), LONG), " not known");
    }

    @Test
    void execIsHealthyWhenItExitsWith0() {
        assertEquals(
                Health.healthy(NOW),
                probes.ask(exec("/bin/sh", "-c", "[ \"$1\" = 'a b$(id)' ]", "sh", "a b$(id)"), LONG));
        assertUnhealthy(probes.ask(exec("/bin/sh", "-c", "exit 3"), LONG), "/bin/sh exited with status 3");
    }

    @Test
    void execRunsInTheDirectoryAndWithTheUmaskOfItsProgram() throws Exception {
        Path directory = Files.createDirectory(root.resolve("work"));
        Files.createSymbolicLink(directory.resolve("check"), Path.of("/bin/sh"));
        Probe check = exec("./check", "-c", "pwd -P; umask; exit 4");
        String said = "the probe's command ./check exited with status 4; it said: " + directory.toRealPath() + " | ";

        assertEquals(unhealthy(said + "0027"), execOf(check, settings(directory.toString(), "0027")));
        assertEquals(unhealthy(said + "0022"), execOf(check, settings(directory.toString(), null)));
        assertUnhealthy(execOf(exec("sh", "-c", "pwd; exit 4"), ProcessSettings.NONE), "it said: /");
    }

    @Test
    void execOfAProgramWhoseDirectoryIsGoneIsUnhealthy() throws Exception {
        Path directory = Files.createDirectory(root.resolve("work"));
        ProcessSettings settings = settings(directory.toString(), null);
        assertEquals(Health.healthy(NOW), execOf(exec("/bin/true"), settings));

        Files.delete(directory);

        for (String command : new String[] {"/bin/true", "true", "./check"}) {
            assertEquals(
                    unhealthy("spec.workingDirectory " + directory + " is not there, or may not be entered;"
                            + " the probe's command " + command + " can't run without it"),
                    execOf(exec(command), settings));
        }
    }

    private static void assertUnhealthy(@Nullable Health health, String end) {
        assertNotNull(health);
        assertEquals(Verdict.UNHEALTHY, health.verdict(), health::toString);
        assertTrue(health.problem().endsWith(end), health.problem());
    }

    private static ProcessSettings settings(String directory, @Nullable String umask) {
        return new ProcessSettings(directory, umask, null, null, null, null, null);
    }

    @Test
    void execRunsAsTheUserOfItsProgramWithItsGroupsAndEnvironment() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become another user");
        ProcessSettings groups = new ProcessSettings(null, null, "7", ImmutableList.of("9"), null, null, null);
        Probe who = exec("sh", "-c", "echo $(id -u) $(id -G) $USER; exit 4");

        assertUnhealthy(
                execOf(who, "nobody", ProcessSettings.NONE),
                "exited with status 4, run as nobody (as root with asRoot: true); it said: 65534 65534 nobody");
        assertUnhealthy(execOf(who, "nobody", groups), "it said: 65534 7 9 65534 nobody");
        Health ours = Objects.requireNonNull(execOf(who, null, ProcessSettings.NONE));
        assertUnhealthy(ours, " root");
        assertFalse(ours.problem().contains("run as"), ours.problem());
        Health none = execOf(who, "nowhere-to-be-found", ProcessSettings.NONE);
        assertEquals(Verdict.UNKNOWN, Objects.requireNonNull(none).verdict());
    }

    @Test
    void execIsRunAsRootOnlyWhereRootAloneCanChangeIt() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become another user");
        ImmutableList<String> who = ImmutableList.of("-c", "id -u; exit 4");
        Path directory = Files.createDirectory(root.resolve("open"));
        Path shell = Files.copy(Path.of("/bin/sh").toRealPath(), directory.resolve("sh"));

        assertUnhealthy(execOf(asRoot("/bin/sh", who), "nobody", ProcessSettings.NONE), "it said: 0");
        assertUnhealthy(execOf(asRoot(shell.toString(), who), "nobody", ProcessSettings.NONE), "it said: 0");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        Health refused = Objects.requireNonNull(execOf(asRoot(shell.toString(), who), "nobody", ProcessSettings.NONE));

        assertEquals(Verdict.UNKNOWN, refused.verdict());
        assertTrue(refused.problem().contains(directory + " may be written to by everybody"), refused.problem());
    }

    @Test
    void execAsRootHasNothingOfItsProgram() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become another user");
        ProcessSettings theirs =
                settings(Files.createDirectory(root.resolve("work")).toString(), "0000");

        assertUnhealthy(
                execOf(asRoot("/bin/sh", ImmutableList.of("-c", "pwd; umask; exit 4")), "nobody", theirs),
                "it said: / | 0022");
        assertUnhealthy(execOf(asRoot("./bin/sh", ImmutableList.of("-c", "exit 4")), "nobody", theirs), "status 4");
    }

    @Test
    void execDoesNotEnterADirectoryThatItsUserMayNotEnter() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become another user");
        Path closed = Files.createDirectory(
                root.resolve("closed"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path theirs = Files.createSymbolicLink(root.resolve("theirs"), closed);
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwx--x--x"));
        Probe where = exec("/bin/sh", "-c", "pwd -P; exit 4");
        ProcessSettings settings = settings(theirs.toString(), null);

        assertUnhealthy(execOf(where, settings), "it said: " + closed.toRealPath());
        assertEquals(
                unhealthy("spec.workingDirectory " + theirs + " is not there, or may not be entered by the user nobody;"
                        + " the probe's command /bin/sh can't run without it"),
                execOf(where, "nobody", settings));
    }

    @Test
    void execOfAnotherUserHasASessionOfItsOwn() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become another user");
        Probe session = exec("sh", "-c", "echo $$ $(cut -d ' ' -f 6 /proc/$$/stat); exit 4");

        Health health = Objects.requireNonNull(execOf(session, "nobody", ProcessSettings.NONE));

        assertTrue(health.problem().matches(".* exited with status 4, .*; it said: ([0-9]+) \\1"), health.problem());
    }

    @Test
    void execOfAnotherUserIsKilledWithItsChildren() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become another user");
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwx--x--x"));
        Path pids = Files.createFile(root.resolve("pids"));
        Files.setPosixFilePermissions(pids, PosixFilePermissions.fromString("rw-rw-rw-"));
        Probe lasting = exec("/bin/sh", "-c", "sleep 1000 & echo $! $$ > \"$1\"; wait", "sh", pids.toString());

        Thread asking = Thread.ofVirtual().start(() -> {
            Health _ = execOf(lasting, "nobody", ProcessSettings.NONE);
        });
        await().atMost(LONG).until(() -> Files.readString(pids).endsWith("\n"));
        asking.interrupt();
        asking.join();

        assertGone(pids);
    }

    private static Probe asRoot(String program, ImmutableList<String> arguments) {
        return new Probe(
                null,
                null,
                new Probe.Exec(
                        ImmutableList.<String>builder()
                                .add(program)
                                .addAll(arguments)
                                .build(),
                        true),
                null);
    }

    private @Nullable Health execOf(Probe probe, ProcessSettings settings) {
        return execOf(probe, null, settings);
    }

    private @Nullable Health execOf(Probe probe, @Nullable String user, ProcessSettings settings) {
        Running running = new Running(new ProcessIdentity(1, 1, "boot"), Duration.ofHours(1), true, null);
        Instance instance = Launches.instance(WorkloadId.process("web"), "l1");
        return probes.of(instance, running, Specs.process(probe, user, settings).of(instance))
                        instanceof Observation.Seen<Running>(Running seen)
                ? seen.health()
                : null;
    }

    @Test
    void whatAnExecSaysIsPartOfTheCauseWhoeverHoldsItsOutput() throws Exception {
        Path pid = root.resolve("pid");
        Health health = probes.ask(
                exec(
                        "/bin/sh",
                        "-c",
                        "echo looking; sleep 1000 & echo $! > \"$1\"; echo cannot reach db7 >&2; exit 4",
                        "sh",
                        pid.toString()),
                LONG);

        assertUnhealthy(health, "it said: looking | cannot reach db7");
        ProcessHandle.of(Long.parseLong(Files.readString(pid).strip())).ifPresent(ProcessHandle::destroyForcibly);
    }

    @Test
    void execMayPrintWithoutEnd() {
        assertEquals(Health.healthy(NOW), probes.ask(exec("/bin/sh", "-c", "head -c 10000000 /dev/zero"), LONG));
    }

    @Test
    void execOfWhatIsNoProgramIsUnhealthyAndSaysWhich() throws Exception {
        Path plain = Files.writeString(root.resolve("plain"), "text");
        for (String command : new String[] {root.resolve("missing").toString(), plain.toString(), "no-such-command"}) {
            Health health = probes.ask(exec(command), LONG);
            assertEquals(Verdict.UNHEALTHY, health.verdict());
            assertTrue(
                    health.problem()
                            .equals("the probe's command " + command
                                    + " is not there, or may not be executed; install it or correct"
                                    + " spec.probe.exec.command"),
                    health.problem());
        }
    }

    @Test
    void aHostIsLookedUpOnceAndWithinTheTimeout() throws Exception {
        AtomicInteger lookups = new AtomicInteger();
        CountDownLatch never = new CountDownLatch(1);
        ProbeHealth one = new ProbeHealth(() -> NOW, OWNERS, ImmutableList::of, new Names() {
            @Override
            public InetAddress host(String name) throws UnknownHostException {
                if (lookups.incrementAndGet() == 1) {
                    return InetAddress.getLoopbackAddress();
                }
                try {
                    never.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                throw new UnknownHostException(name);
            }

            @Override
            public Account ours() throws IOException, InterruptedException {
                return Account.ours();
            }
        });
        ProcFs procFs = new ProcFs();
        long self = ProcessHandle.current().pid();
        Running running = new Running(
                new ProcessIdentity(self, procFs.stat(self).orElseThrow().startTicks(), procFs.bootId()),
                Duration.ofHours(1),
                true,
                null);
        Instance instance = Launches.instance(WorkloadId.process("web"), "l1");
        try (ServerSocket server = listen()) {
            Probe probe = tcp("web.test:" + server.getLocalPort());
            WorkloadSpec spec = Specs.process(probe).of(instance);
            assertEquals(
                    Observation.seen(new Running(running.identity(), running.age(), true, Health.healthy(NOW))),
                    one.of(instance, running, spec));
            assertEquals(1, lookups.get());
            assertEquals(Verdict.HUNG, one.ask(probe, SHORT).verdict());
        } finally {
            one.close();
        }
    }

    @Test
    void execLooksUpItsUserOnce() {
        AtomicInteger lookups = new AtomicInteger();
        ProbeHealth one = new ProbeHealth(() -> NOW, OWNERS, ImmutableList::of, new Names() {
            @Override
            public InetAddress host(String name) throws UnknownHostException {
                throw new UnknownHostException(name);
            }

            @Override
            public Account ours() throws IOException, InterruptedException {
                lookups.incrementAndGet();
                return Account.ours();
            }
        });
        try {
            assertEquals(Health.healthy(NOW), one.ask(exec("/bin/sh", "-c", "test -n \"$USER\""), LONG));
            assertEquals(Health.healthy(NOW), one.ask(exec("true"), LONG));
        } finally {
            one.close();
        }
        assertEquals(1, lookups.get());
    }

    @Test
    void execThatTakesTooLongIsKilledWithItsChildren() throws Exception {
        Path pids = root.resolve("pids");
        Health health = probes.ask(
                exec("/bin/sh", "-c", "sleep 1000 & echo $! $$ > \"$1\"; wait", "sh", pids.toString()),
                Duration.ofSeconds(3));

        assertEquals(
                Health.failed(Verdict.HUNG, "the probe's command /bin/sh did not end within 3000 ms", NOW), health);
        assertGone(pids);
    }

    private static void assertGone(Path pids) throws IOException {
        ProcFs procFs = new ProcFs();
        for (String pid : Files.readString(pids).strip().split(" ", -1)) {
            await().atMost(LONG)
                    .until(() -> procFs.stat(Long.parseLong(pid))
                            .filter(ProcFs.Stat::alive)
                            .isEmpty());
        }
    }

    @Test
    void grpcIsHealthyWhenItServes() throws Exception {
        HealthStatusManager manager = new HealthStatusManager();
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .addService(manager.getHealthService())
                .build()
                .start();
        String address = "127.0.0.1:" + server.getPort();
        try {
            manager.setStatus("db", ServingStatus.NOT_SERVING);
            assertEquals(Health.healthy(NOW), probes.ask(grpc(address, ""), LONG));
            assertEquals(
                    unhealthy("the health check of " + address + " was answered with NOT_SERVING"),
                    probes.ask(grpc(address, "db"), LONG));
            Health unknown = probes.ask(grpc(address, "no-such-service"), LONG);
            assertEquals(Verdict.UNHEALTHY, unknown.verdict());
            assertTrue(unknown.problem().contains("NOT_FOUND"), unknown.problem());
        } finally {
            server.shutdownNow().awaitTermination();
        }
        assertEquals(Verdict.UNHEALTHY, probes.ask(grpc(address, ""), LONG).verdict());
    }

    @Test
    void whoHasEndedBeforeItCouldAskKnowsNothing() {
        ProbeHealth ended = new ProbeHealth(() -> NOW, OWNERS);
        ended.close();

        assertEquals(Verdict.UNKNOWN, ended.ask(grpc("127.0.0.1:1", ""), LONG).verdict());
    }

    @Test
    void grpcThatDoesNotAnswerHangs() throws Exception {
        try (ServerSocket mute = listen()) {
            assertEquals(
                    Verdict.HUNG,
                    probes.ask(grpc("127.0.0.1:" + mute.getLocalPort(), ""), SHORT)
                            .verdict());
        }
    }

    @Test
    void aProbeThatIsInterruptedSaysNothing() throws Exception {
        try (ServerSocket mute = listen()) {
            for (Probe probe :
                    new Probe[] {http("http://127.0.0.1:" + mute.getLocalPort() + "/"), exec("/bin/sleep", "1000")}) {
                Thread.currentThread().interrupt();
                assertEquals(Verdict.UNKNOWN, probes.ask(probe, LONG).verdict());
                assertTrue(Thread.interrupted());
            }
        }
    }
}
