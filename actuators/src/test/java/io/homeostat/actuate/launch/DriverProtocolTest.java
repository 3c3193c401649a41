package io.homeostat.actuate.launch;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Iterables;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.install.Remover;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.actuate.stop.Stopper;
import io.homeostat.actuate.stop.Stopper.StopRequest;
import io.homeostat.actuate.stop.Stopper.StopResult.How;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.driver.DriverSessions;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.ProcessObserver;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.observe.process.UnknownLaunches;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Drivers are shell scripts that say that they listen where this process does. */
class DriverProtocolTest {
    private static final WorkloadId ID = new WorkloadId(Kind.DRIVER, "raw-exec");
    private static final Duration LONG = Duration.ofSeconds(90);
    private static final String USER = "nobody";
    private static final LimitObserver NO_GROUPS = new LimitObserver(CgroupLayout.NONE);

    @TempDir
    Path root;

    private TestBed bed;
    private DriverSessions sessions;
    private DriverProtocol protocol;

    @BeforeEach
    void setUp() throws Exception {
        // JUnit's own directory is closed to others, as no directory above a state directory is.
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwx--x--x"));
        open(root.resolve("run"));
    }

    private void open(Path run) {
        bed = new TestBed(root, run);
        sessions = new DriverSessions(bed.layout, bed.procFs, InstantSource.system(), true, new LocalDisk()::replace);
        protocol = new DriverProtocol(bed.layout, bed.procFs, sessions);
    }

    @AfterEach
    void tearDown() throws Exception {
        sessions.close();
        bed.close();
    }

    private Path sockets() {
        return bed.layout.driverSockets(ID);
    }

    /** Those of all drivers. */
    private Path connections() {
        return bed.layout.runDir().resolve("driver-connections");
    }

    private Instance launch(@Nullable String user, String... lines) throws Exception {
        return launched(bed.instance(ID), user, lines);
    }

    private Instance launched(Instance instance, @Nullable String user, String... lines) throws Exception {
        bed.adopt(instance);
        LaunchRequest request =
                new LaunchRequest(instance, bed.program("driver", lines), ImmutableList.of(), ImmutableMap.of(), user);
        return instance.withIdentity(
                new Launcher(bed.layout, bed.procFs, protocol, bed.keepers).launch(request, CgroupPlan.NONE));
    }

    /** Listens nowhere itself, and can be ended by any signal. */
    private Instance launchedAt(Path socket) throws Exception {
        Instance instance = launch(null, "echo '1|2|unix|" + socket + "|grpc|'", "exec sleep 1000");
        TestBed.soon().until(() -> sessions.handshakeLine(instance).isPresent());
        return instance;
    }

    private How stop(Instance instance, Duration timeout) throws Exception {
        return new Stopper(bed.layout, bed.procFs, protocol, NO_GROUPS, Extent.MAIN)
                .stop(new StopRequest(instance, false, new Lifecycle.Stop(timeout)))
                .how();
    }

    private Liveness look(Instance instance) {
        return Iterables.getOnlyElement(TestBed.seen(new ProcessObserver(
                                bed.layout,
                                bed.procFs,
                                InstantSource.system(),
                                NO_GROUPS,
                                Extent.MAIN,
                                UnknownLaunches.none(bed.layout, bed.procFs))
                        .look(ID, ImmutableList.of(instance))))
                .liveness();
    }

    private static void kill(Instance instance) throws Exception {
        TestBed.signal("KILL", TestBed.pid(instance));
    }

    private static String rights(Path file) throws Exception {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS));
    }

    private static int uid(Path file) throws Exception {
        return (Integer) Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    }

    @Test
    void aDriverIsToldByItsEnvironmentWhereToListen() throws Exception {
        Instance instance = launch(null, "env");
        TestBed.soon().until(() -> look(instance) instanceof Liveness.Ended);

        Map<String, String> env = Files.readAllLines(bed.directory(instance).outputFile()).stream()
                .map(line -> line.split("=", 2))
                .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
        assertEquals(sockets().toString(), env.get("TMPDIR"));
        assertEquals(sockets().toString(), env.get("PLUGIN_UNIX_SOCKET_DIR"));
        assertEquals("2", env.get("PLUGIN_PROTOCOL_VERSIONS"));
        assertEquals(
                "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255",
                env.get("NOMAD_PLUGIN_MAGIC_COOKIE"));
        assertEquals("", bed.log(ID));
    }

    @Test
    void nobodyElseCanListenInItsPlace() throws Exception {
        launch(null, "exec sleep 1000");

        assertEquals("rwx------", rights(sockets()));
        assertEquals("rwx------", rights(connections()));
    }

    @Test
    void aDriverOfAnotherUserCanListenThereAndWeCanReachIt() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become somebody else");
        Instance instance = launch(USER, "echo > $TMPDIR/made || exit 1", "ls $TMPDIR/.. && exit 2", "exit 0");

        assertEquals(0, bed.ended(instance).exit().code(), bed.log(ID));
        int uid = Account.find(USER).orElseThrow().uid();
        assertEquals(uid, uid(sockets().resolve("made")));
        assertEquals(uid, uid(sockets()));
        assertEquals("rwx------", rights(sockets()));
        assertEquals(0, uid(connections()));
        assertEquals("rwx--x--x", rights(connections()));
    }

    @Test
    void whoeverItRanAsBeforeCanNotListenInItsPlaceAnyMore() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root can become somebody else");
        bed.ended(launch(USER, "chmod 0777 $TMPDIR"));
        launch(null, "exit 0");

        assertEquals(0, uid(sockets()));
        assertEquals(0, Files.getAttribute(sockets(), "unix:gid"));
        assertEquals("rwx------", rights(sockets()));
    }

    @Test
    void aRunDirectoryInWhichNoSocketCanBeIsRefusedBeforeAnythingIsStarted() throws Exception {
        open(root.resolve("x".repeat(100)));
        Instance instance = bed.instance(ID);

        ActuationFailure failure =
                assertThrows(ActuationFailure.class, () -> launched(instance, null, "exec sleep 1000"));

        assertTrue(TestBed.message(failure).contains("--run-dir"), TestBed.message(failure));
        assertFalse(Files.exists(bed.layout.launches(ID)));
        assertEquals(How.ALREADY_GONE, stop(instance, LONG), "undoing it is possible");
        new Remover(bed.layout).remove(ID);
    }

    @Test
    void aDriverIsToldToEndBeforeThePluginIsAndHasEndedThen() throws Exception {
        Instance instance = launchedAt(sockets().resolve("plugin1"));
        try (StoppableDriver driver = new StoppableDriver(sockets().resolve("plugin1"), true, () -> kill(instance))) {
            assertEquals(How.ASKED, stop(instance, LONG));

            assertEquals(List.of("Driver.Shutdown", "GRPCController.Shutdown"), driver.calls);
            assertInstanceOf(Liveness.Ended.class, look(instance));
        }
    }

    @Test
    void theDriverOfRootIsToldNothingWhoseSocketThatOfAnotherUserNames() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root has drivers of other users");
        Path socket = root.resolve("roots.sock");
        try (StoppableDriver other = new StoppableDriver(socket, true, () -> {})) {
            Instance instance = launch(USER, "echo '1|2|unix|" + socket + "|grpc|'", "exec sleep 1000");
            TestBed.soon().until(() -> sessions.handshakeLine(instance).isPresent());

            assertEquals(How.TERMINATED, stop(instance, Duration.ofSeconds(3)));
            assertEquals(List.of(), other.calls);
        }
    }

    @Test
    void itsEndIsAwaitedAlsoWhenOnlyItsOwnNoteTellsWhoItIs() throws Exception {
        Instance known = launchedAt(sockets().resolve("plugin1"));
        Instance instance = TestBed.instance(ID, known.launchId(), known.launchedAt());
        try (StoppableDriver driver = new StoppableDriver(
                sockets().resolve("plugin1"),
                true,
                () -> Thread.ofVirtual().start(() -> {
                    try {
                        kill(known);
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }))) {
            assertEquals(
                    ProcessProtocol.Answer.AGREED, protocol.stop(instance, false, LONG), () -> driver.calls.toString());
        }
    }

    @Test
    void oneThatDoesNotEndGetsTheSignal() throws Exception {
        Instance instance = launchedAt(sockets().resolve("plugin1"));
        try (StoppableDriver driver = new StoppableDriver(sockets().resolve("plugin1"), true, () -> {})) {
            assertEquals(How.TERMINATED, stop(instance, LONG));

            assertEquals(List.of("Driver.Shutdown", "GRPCController.Shutdown"), driver.calls);
            assertInstanceOf(Liveness.Ended.class, look(instance));
        }
    }

    @Test
    void oneThatDoesNotAnswerHasNoMoreThanTheWholeTimeout() throws Exception {
        Instance instance = launchedAt(sockets().resolve("plugin1"));
        try (StoppableDriver driver = new StoppableDriver(sockets().resolve("plugin1"), false, () -> {})) {
            sessions.of(instance).check(LONG);
            assertEquals(ProcessProtocol.Answer.REFUSED, protocol.stop(instance, false, Duration.ofSeconds(3)));
            // Who asks gives up at the deadline, whether or not it has been heard by then.
            TestBed.soon()
                    .untilAsserted(
                            () -> assertEquals(List.of("Driver.Shutdown", "GRPCController.Shutdown"), driver.calls));

            assertEquals(How.KILLED, stop(instance, Duration.ofMillis(3)));
            assertInstanceOf(Liveness.Ended.class, look(instance));
        }
    }

    @Test
    void nobodyIsAskedWhoHasPrintedNoHandshake() throws Exception {
        Instance silent = launch(null, "exec sleep 1000");
        try (StoppableDriver driver = new StoppableDriver(sockets().resolve("plugin1"), true, () -> {})) {
            assertEquals(ProcessProtocol.Answer.NOT_ASKED, protocol.stop(silent, false, LONG));
            assertEquals(How.TERMINATED, stop(silent, LONG));

            Instance other = launch(null, "echo not a plugin", "exec sleep 1000");
            TestBed.soon().until(() -> sessions.handshakeLine(other).isPresent());
            assertEquals(ProcessProtocol.Answer.NOT_ASKED, protocol.stop(other, false, LONG));
            assertEquals(How.TERMINATED, stop(other, LONG));
            assertEquals(List.of(), driver.calls);
        }
    }

    @Test
    void whatItRunsGoesOnWithoutItAndItHasEndedAllTheSame() throws Exception {
        Path pid = root.resolve("pid");
        Instance instance = launch(
                null,
                "sleep 1000 &",
                "echo $! > " + pid + ".new",
                "setsid sleep 1000 &",
                "mv " + pid + ".new " + pid,
                "wait");
        bed.awaitFile(pid);
        long child = Long.parseLong(Files.readString(pid).strip());
        assertInstanceOf(Liveness.Running.class, look(instance));

        assertEquals(How.TERMINATED, stop(instance, LONG));

        assertTrue(ProcessHandle.of(child).orElseThrow().isAlive());
        assertInstanceOf(Liveness.Ended.class, look(instance));
        // The mv of its script may be ending still.
        await().atMost(LONG).untilAsserted(() -> {
            ImmutableList<ObservedInstance> whole = TestBed.seen(bed.observer.look(ID, ImmutableList.of(instance)));
            assertEquals(
                    2,
                    assertInstanceOf(Liveness.Orphaned.class, whole.getFirst().liveness())
                            .survivors());
        });
    }

    @Test
    void itsOwnSocketIsDeletedWhenItHasEndedAndThoseOfWhatItStartedAreNot() throws Exception {
        Path own = sockets().resolve("plugin1");
        Instance instance = launchedAt(own);
        bound(own);
        Path executors = bound(sockets().resolve("plugin2"));
        Path file = Files.createFile(sockets().resolve("file"));

        stop(instance, LONG);

        assertFalse(Files.exists(own));
        assertTrue(Files.exists(executors));
        assertTrue(Files.exists(file));
        protocol.ended(instance);
    }

    @Test
    void noFileIsDeletedThatIsElsewhereOrIsNoSocket() throws Exception {
        Files.createDirectories(sockets());
        Path elsewhere = bound(root.resolve("s"));
        Path link = Files.createSymbolicLink(sockets().resolve("link"), elsewhere);
        Path file = Files.createFile(sockets().resolve("file"));
        Path below = Files.createDirectory(sockets().resolve("below"));
        Path deeper = bound(below.resolve("s"));

        for (Path named :
                List.of(elsewhere, link, file, below, deeper, sockets().resolve("../../../s"))) {
            Instance instance = launchedAt(named);
            stop(instance, Duration.ofMillis(300));
            assertTrue(Files.exists(named, LinkOption.NOFOLLOW_LINKS), named.toString());
        }
    }

    @Test
    void allOfThemGoWithTheDriver() throws Exception {
        stop(launchedAt(sockets().resolve("plugin1")), LONG);
        bound(sockets().resolve("plugin2"));
        Files.createFile(sockets().resolve("file"));
        Path others = bed.layout.driverSockets(new WorkloadId(Kind.DRIVER, "other"));
        Files.createDirectories(others);

        Sockets.deleteOfDriver(bed.layout, new LocalDisk(), ID);

        assertFalse(Files.exists(sockets()));
        assertTrue(Files.exists(others));
    }

    @Test
    void aSessionWithALaunchThatEndedByItselfIsGivenUpAtTheNext() throws Exception {
        Instance instance = launchedAt(sockets().resolve("plugin1"));
        var session = sessions.of(instance);
        kill(instance);
        TestBed.soon().until(() -> look(instance) instanceof Liveness.Ended);

        launch(null, "exit 0");

        assertTrue(session != sessions.of(instance));
    }

    private static Path bound(Path socket) throws Exception {
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(socket));
        }
        return socket;
    }
}
