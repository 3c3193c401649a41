package io.homeostat.observe;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.health.PluginHealth;
import io.homeostat.observe.health.PluginServer;
import io.homeostat.observe.health.ProbeHealth;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.observe.process.FakeProc;
import io.homeostat.observe.process.Launches;
import io.homeostat.observe.process.PortOwners;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.observe.process.UnknownLaunches;
import io.homeostat.proto.plugin.GetStatusRequest;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The process that runs is 100; what it says comes from a real socket. */
class MachineObserverTest {
    private static final Instant NOW = Instant.parse("2026-11-20T13:00:00Z");

    @TempDir
    Path root;

    private Layout layout;
    private FakeProc proc;
    private PluginChannel plugins;
    private ProbeHealth probes;
    private MachineObserver observer;

    @BeforeEach
    void setUp() throws Exception {
        layout = new Layout(root.resolve("s"), root.resolve("r"), "i");
        proc = new FakeProc(root.resolve("proc"));
        proc.process(100, 99, 100, 5000);
        plugins = new PluginChannel(() -> NOW);
        probes = new ProbeHealth(() -> NOW, new PortOwners(layout, proc.procFs, new LimitObserver(CgroupLayout.NONE)));
        observer = observer(layout);
    }

    @AfterEach
    void tearDown() {
        probes.close();
        plugins.close();
    }

    private MachineObserver observer(Layout at) {
        LimitObserver limits = new LimitObserver(CgroupLayout.detect(at));
        PluginHealth asked = new PluginHealth(at, plugins, () -> NOW);
        UnknownLaunches unknown = new UnknownLaunches(at, proc.procFs);
        return new MachineObserver(
                at,
                proc.procFs,
                unknown,
                kind -> new ProcessInstances(
                        at, proc.procFs, () -> NOW, limits, Extent.TREE, unknown, kind == Kind.PLUGIN ? asked : probes),
                path -> new MetadataServer.Answer.Absent(),
                () -> NOW);
    }

    private Instance running(Phase start) throws Exception {
        return running(Launches.ID).withPhase(start, "");
    }

    private Instance running(WorkloadId id) throws Exception {
        Launches launches = new Launches(layout);
        Instance instance = launches.noted(Launches.instance(id, "l1"), FakeProc.BOOT);
        launches.born(instance, 100, 5000, FakeProc.BOOT);
        return instance;
    }

    private Observation<ImmutableList<ObservedInstance>> look(MachineObserver by, Instance instance, Checks checks) {
        return by.look(instance.workload(), ImmutableList.of(instance), checks).instances();
    }

    private Running seen(Instance instance, Checks checks) {
        Liveness liveness = switch (look(observer, instance, checks)) {
            case Observation.Seen<ImmutableList<ObservedInstance>>(ImmutableList<ObservedInstance> found) ->
                Iterables.getOnlyElement(found).liveness();
            case Observation.Unseen<ImmutableList<ObservedInstance>>(String why) -> throw new AssertionError(why);
        };
        return assertInstanceOf(Running.class, liveness);
    }

    @Test
    void whatALookBreaksOnIsNotSeen() {
        MachineObserver broken = new MachineObserver(
                layout,
                proc.procFs,
                new UnknownLaunches(layout, proc.procFs),
                kind -> new Broken(),
                path -> new MetadataServer.Answer.Absent(),
                () -> NOW);

        Instance instance = Launches.instance(Launches.ID, "l1");
        ObservedWorkload all = broken.look(Launches.ID, ImmutableList.of(instance), Checks.NONE);

        assertInstanceOf(Observation.Unseen.class, all.limits());
        assertFalse(broken.isGone(instance));
        assertTrue(assertInstanceOf(Observation.Unseen.class, all.instances())
                .why()
                .startsWith("internal error, a defect of homeostat: java.lang.IllegalArgumentException: not read"
                        + " (MachineObserverTest.java:"));
    }

    private static final class Broken implements InstanceObserver {
        @Override
        public Observation<ImmutableList<ObservedInstance>> look(
                WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
            throw new IllegalArgumentException("not read");
        }

        @Override
        public Observation<ObservedLimits> limits(WorkloadId id, ImmutableList<ObservedInstance> found) {
            throw new IllegalArgumentException("not read");
        }

        @Override
        public void close() {}
    }

    private Path socket() {
        return layout.socket(Launches.ID, "r1");
    }

    @Test
    void aPluginIsAskedForItsHealthOnceItHasStarted() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            Running running = seen(running(Phase.STARTED), Specs.plugin());

            assertEquals(Health.healthy(NOW), running.health());
            assertTrue(running.listening());
            assertEquals(List.of(GetStatusRequest.getDefaultInstance()), plugin.requests);
        }
    }

    @Test
    void aPluginIsAskedOverOneConnectionUntilItsSocketIsAnotherOne() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            Instance instance = running(Phase.STARTED);
            seen(instance, Specs.plugin());
            seen(instance, Specs.plugin());
            assertEquals(1, plugin.connections.get());
            assertEquals(2, plugin.requests.size());

            // The first one would go on answering those who are connected.
            try (PluginServer replacement = PluginServer.on(socket())) {
                assertEquals(Health.healthy(NOW), seen(instance, Specs.plugin()).health());
                assertEquals(1, replacement.requests.size());
            }
        }
    }

    @Test
    void aPluginThatIsNotKnownToHaveStartedIsAskedNothing() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            for (Phase state : List.of(Phase.CREATED, Phase.START_SENT)) {
                Running running = seen(running(state), Specs.plugin());

                assertEquals(null, running.health());
                assertTrue(running.listening());
            }
            assertEquals(List.of(), plugin.requests);
        }
        Instance created = running(Phase.CREATED);
        // A process that another test starts holds this JVM's descriptors until its exec.
        await().atMost(Specs.LONG).until(() -> !seen(created, Specs.plugin()).listening());
    }

    @Test
    void theHealthOfAPluginThatNobodyDeclaresIsNobodysConcern() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(null, seen(running(Phase.STARTED), Checks.NONE).health());
            assertEquals(List.of(), plugin.requests);
        }
    }

    @Test
    void aPluginThatIsGoneFromItsSocketIsUnhealthyAndDoesNotListen() throws Exception {
        abandonedSocket();
        Running running = seen(running(Phase.STARTED), Specs.plugin());

        assertEquals(false, running.listening());
        assertFalse(running.lost().contains(Loss.SOCKET));
        Health health = running.health();
        assertTrue(health != null && health.verdict() == Verdict.UNHEALTHY, String.valueOf(health));
    }

    @Test
    void aPluginWhoseSocketWasDeletedHasLostItAndIsNotAsked() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            Instance instance = running(Phase.STARTED);
            assertFalse(seen(instance, Specs.plugin()).lost().contains(Loss.SOCKET));
            plugin.requests.clear();
            Files.delete(socket());

            Running asked = seen(instance, Specs.plugin());
            Running glanced = seen(instance, Checks.NONE);

            assertTrue(asked.lost().contains(Loss.SOCKET));
            assertEquals(Verdict.UNKNOWN, Objects.requireNonNull(asked.health()).verdict());
            assertTrue(glanced.lost().contains(Loss.SOCKET));
            assertEquals(null, glanced.health());
            Files.createFile(socket());
            assertTrue(seen(instance, Specs.plugin()).lost().contains(Loss.SOCKET), "a file is no socket");
            assertEquals(List.of(), plugin.requests);
        }
    }

    /** As one of another user does. */
    @Test
    void aPluginMayListenWhereALinkLeads() throws Exception {
        Path elsewhere = root.resolve("u1000.sock");
        try (PluginServer plugin = PluginServer.on(elsewhere)) {
            Files.createDirectories(socket().getParent());
            Files.createSymbolicLink(socket(), elsewhere);
            Instance instance = running(Phase.STARTED);

            Running running = seen(instance, Specs.plugin());
            assertFalse(running.lost().contains(Loss.SOCKET));
            assertEquals(Health.healthy(NOW), running.health());
            assertEquals(1, plugin.requests.size());

            Files.delete(elsewhere);
            assertTrue(seen(instance, Specs.plugin()).lost().contains(Loss.SOCKET));
        }
    }

    @Test
    void aPluginThatWasNotStartedMayHaveNoSocketYet() throws Exception {
        assertEquals(Set.of(), seen(running(Phase.CREATED), Specs.plugin()).lost());
    }

    @Test
    void aProcessWhoseLogWasDeletedHasLostItOnceItHasStarted() throws Exception {
        WorkloadId id = WorkloadId.process("node-exporter");
        Instance instance = running(id).withPhase(Phase.STARTED, "");
        Path log = layout.log(id);
        Files.createDirectories(log.getParent());
        Files.createFile(log);
        assertEquals(Set.of(), seen(instance, Specs.process(null)).lost());

        Files.delete(log);

        assertEquals(Set.of(Loss.LOG), seen(instance, Specs.process(null)).lost());
        assertEquals(Set.of(Loss.LOG), seen(instance, Checks.NONE).lost());
        assertEquals(
                Set.of(),
                seen(instance.withPhase(Phase.CREATED, ""), Specs.process(null)).lost());
    }

    /** What a plugin leaves behind that was killed. */
    private void abandonedSocket() throws Exception {
        Files.createDirectories(socket().getParent());
        ServerSocketChannel.open(StandardProtocolFamily.UNIX)
                .bind(UnixDomainSocketAddress.of(socket()))
                .close();
    }

    @Test
    void aPluginThatHangsListensAllTheSame() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            Instance instance = running(Phase.STARTED);
            // Over the connection that is kept: to make one may take a busy machine as long.
            seen(instance, Specs.plugin());
            plugin.silent();
            Running running = seen(instance, Specs.plugin(Duration.ofSeconds(1)));

            assertTrue(running.listening());
            Health health = running.health();
            assertTrue(health != null && health.verdict() == Verdict.HUNG, String.valueOf(health));
            // The server may note it later than the one who no longer waits gives up.
            await().atMost(Specs.LONG).until(() -> plugin.requests.size() == 2);
        }
    }

    @Test
    void aProcessIsHealthyWhenItRunsUnlessAProbeSaysOtherwise() throws Exception {
        Instance instance = running(WorkloadId.process("node-exporter"));
        Probe probe = new Probe(null, null, new Probe.Exec(ImmutableList.of("/bin/sh", "-c", "exit 3")), null);

        assertEquals(Health.healthy(NOW), seen(instance, Specs.process(null)).health());
        Health failed =
                Objects.requireNonNull(seen(instance, Specs.process(probe)).health());
        assertEquals(Verdict.UNHEALTHY, failed.verdict(), failed::toString);
        assertTrue(failed.problem().contains("/bin/sh"), failed.problem());
        assertEquals(null, seen(instance, Checks.NONE).health());
        assertTrue(seen(instance, Checks.NONE).listening());
    }

    @Test
    void aRunDirectoryThatIsTooLongForSocketsIsSaidSo() throws Exception {
        Instance instance = running(Phase.STARTED);
        Layout deep = new Layout(layout.stateDir(), root.resolve("x".repeat(120)), "i");
        var unseen = assertInstanceOf(Observation.Unseen.class, look(observer(deep), instance, Specs.plugin()));
        assertTrue(unseen.why().contains("--run-dir"), unseen.why());
    }

    @Test
    void processesThatCanNotBeSeenAreUnseenAndNotGone() throws Exception {
        Instance instance = running(Phase.STARTED);
        proc.unreadable("100/stat");

        assertInstanceOf(Observation.Unseen.class, look(observer, instance, Checks.NONE));
    }

    @Test
    void anInstanceIsGoneOnceItsProcessIsWhateverCanBeSeenOfItsLaunch() throws Exception {
        Instance instance = running(Phase.STARTED).withIdentity(new ProcessIdentity(100, 5000, FakeProc.BOOT));
        assertFalse(observer.isGone(instance));

        Files.createDirectory(new Launches(layout).directory(instance).exitFile());
        proc.end(100);

        assertInstanceOf(Observation.Unseen.class, look(observer, instance, Checks.NONE));
        assertTrue(observer.isGone(instance));
    }

    @Test
    void anInstanceWhoseProcessCanNotBeSeenIsNotKnownToBeGone() throws Exception {
        Instance instance = running(Phase.STARTED).withIdentity(new ProcessIdentity(100, 5000, FakeProc.BOOT));
        proc.unreadable("100/stat");

        assertFalse(observer.isGone(instance));
    }

    @Test
    void aWorkloadOfWhichThereIsNoTraceIsSeenToBeAbsent() {
        ObservedWorkload absent = ObservedWorkload.absent(Launches.ID);

        ObservedWorkload seen = observer.look(Launches.ID, ImmutableList.of(), Checks.NONE);

        // What could be limited is a matter of this machine, and not of the workload.
        assertEquals(
                List.of(absent.installations(), absent.active(), absent.instances(), absent.residue()),
                List.of(seen.installations(), seen.active(), seen.instances(), seen.residue()));
        assertEquals(Observation.seen(Limits.NONE), seen.limits().map(ObservedLimits::inForce));
    }

    @Test
    void whatCouldNotBeSeenIsNotSeenForSomethingThatIsKnownToBeLeft() {
        ObservedWorkload absent = ObservedWorkload.absent(Launches.ID);
        ObservedWorkload blind = new ObservedWorkload(
                Launches.ID,
                absent.installations(),
                absent.active(),
                absent.instances(),
                absent.limits(),
                Observation.unseen("permission denied"));

        assertEquals(Observation.seen(true), absent.withResidue().residue());
        assertEquals(
                Observation.unseen("permission denied"), blind.withResidue().residue());
    }
}
