package io.homeostat.observe;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.Limits;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.Handle.StartState;
import io.homeostat.observe.Health.Verdict;
import io.homeostat.observe.ObservedProcess.Liveness;
import io.homeostat.observe.ObservedProcess.Liveness.Running;
import io.homeostat.observe.ObservedProcess.Loss;
import io.homeostat.proto.plugin.GetStatusRequest;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
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
    private MachineObserver observer;

    @BeforeEach
    void setUp() throws Exception {
        layout = new Layout(root.resolve("s"), root.resolve("r"), "i");
        proc = new FakeProc(root.resolve("proc"));
        proc.process(100, 99, 100, 5000);
        plugins = new PluginChannel(() -> NOW);
        observer = new MachineObserver(
                layout, proc.procFs, plugins, path -> new MetadataServer.Answer.Absent(), () -> NOW);
    }

    @AfterEach
    void tearDown() {
        observer.close();
        plugins.close();
    }

    private Handle running(StartState start) throws Exception {
        return running(Launches.ID).withStart(start, "");
    }

    private Handle running(WorkloadId id) throws Exception {
        Launches launches = new Launches(layout);
        Handle handle = launches.noted(Launches.handle(id, "l1"), FakeProc.BOOT);
        launches.born(handle, 100, 5000, FakeProc.BOOT);
        return handle;
    }

    private Observation<ImmutableList<ObservedProcess>> look(MachineObserver by, Handle handle, Checks checks) {
        return by.look(handle.workload(), ImmutableList.of(handle), checks).processes();
    }

    private Running seen(Handle handle, Checks checks) {
        Liveness liveness = switch (look(observer, handle, checks)) {
            case Observation.Seen<ImmutableList<ObservedProcess>>(ImmutableList<ObservedProcess> found) ->
                Iterables.getOnlyElement(found).liveness();
            case Observation.Unseen<ImmutableList<ObservedProcess>>(String why) -> throw new AssertionError(why);
        };
        return assertInstanceOf(Running.class, liveness);
    }

    private Path socket() {
        return layout.socket(Launches.ID, "r1");
    }

    @Test
    void aPluginIsAskedForItsHealthOnceItHasStarted() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            Running running = seen(running(StartState.SUCCEEDED), Specs.plugin());

            assertEquals(Health.healthy(NOW), running.health());
            assertTrue(running.listening());
            assertEquals(List.of(GetStatusRequest.getDefaultInstance()), plugin.requests);
        }
    }

    @Test
    void aPluginThatIsNotKnownToHaveStartedIsAskedNothing() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            for (StartState state : List.of(StartState.NOT_SENT, StartState.SENT)) {
                Running running = seen(running(state), Specs.plugin());

                assertEquals(null, running.health());
                assertTrue(running.listening());
            }
            assertEquals(List.of(), plugin.requests);
        }
        assertEquals(false, seen(running(StartState.NOT_SENT), Specs.plugin()).listening());
    }

    @Test
    void theHealthOfAPluginThatNobodyDeclaresIsNobodysConcern() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            assertEquals(null, seen(running(StartState.SUCCEEDED), Checks.NONE).health());
            assertEquals(List.of(), plugin.requests);
        }
    }

    @Test
    void aPluginThatIsGoneFromItsSocketIsUnhealthyAndDoesNotListen() throws Exception {
        abandonedSocket();
        Running running = seen(running(StartState.SUCCEEDED), Specs.plugin());

        assertEquals(false, running.listening());
        assertFalse(running.lost().contains(Loss.SOCKET));
        Health health = running.health();
        assertTrue(health != null && health.verdict() == Verdict.UNHEALTHY, String.valueOf(health));
    }

    @Test
    void aPluginWhoseSocketWasDeletedHasLostItAndIsNotAsked() throws Exception {
        try (PluginServer plugin = PluginServer.on(socket())) {
            Handle handle = running(StartState.SUCCEEDED);
            assertFalse(seen(handle, Specs.plugin()).lost().contains(Loss.SOCKET));
            plugin.requests.clear();
            Files.delete(socket());

            Running asked = seen(handle, Specs.plugin());
            Running glanced = seen(handle, Checks.NONE);

            assertTrue(asked.lost().contains(Loss.SOCKET));
            assertEquals(Verdict.UNKNOWN, Objects.requireNonNull(asked.health()).verdict());
            assertTrue(glanced.lost().contains(Loss.SOCKET));
            assertEquals(null, glanced.health());
            Files.createFile(socket());
            assertTrue(seen(handle, Specs.plugin()).lost().contains(Loss.SOCKET), "a file is no socket");
            assertEquals(List.of(), plugin.requests);
        }
    }

    @Test
    void aPluginThatWasNotStartedMayHaveNoSocketYet() throws Exception {
        assertEquals(
                Set.of(), seen(running(StartState.NOT_SENT), Specs.plugin()).lost());
    }

    @Test
    void aProcessWhoseLogWasDeletedHasLostItOnceItHasStarted() throws Exception {
        WorkloadId id = WorkloadId.process("node-exporter");
        Handle handle = running(id).withStart(StartState.SUCCEEDED, "");
        Path log = layout.log(id);
        Files.createDirectories(log.getParent());
        Files.createFile(log);
        assertEquals(Set.of(), seen(handle, Specs.process(null)).lost());

        Files.delete(log);

        assertEquals(Set.of(Loss.LOG), seen(handle, Specs.process(null)).lost());
        assertEquals(Set.of(Loss.LOG), seen(handle, Checks.NONE).lost());
        assertEquals(
                Set.of(),
                seen(handle.withStart(StartState.NOT_SENT, ""), Specs.process(null))
                        .lost());
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
        try (PluginServer plugin = PluginServer.on(socket()).silent()) {
            Running running = seen(running(StartState.SUCCEEDED), Specs.plugin());

            assertTrue(running.listening());
            Health health = running.health();
            assertTrue(health != null && health.verdict() == Verdict.HUNG, String.valueOf(health));
            assertEquals(1, plugin.requests.size());
        }
    }

    @Test
    void aProcessIsHealthyWhenItRunsUnlessAProbeSaysOtherwise() throws Exception {
        Handle handle = running(WorkloadId.process("node-exporter"));
        Probe probe = new Probe(null, null, new Probe.Exec(ImmutableList.of("/bin/sh", "-c", "exit 3")), null);

        assertEquals(Health.healthy(NOW), seen(handle, Specs.process(null)).health());
        assertEquals(
                Health.failed(Verdict.UNHEALTHY, "the probe's command /bin/sh exited with status 3", NOW),
                seen(handle, Specs.process(probe)).health());
        assertEquals(null, seen(handle, Checks.NONE).health());
        assertTrue(seen(handle, Checks.NONE).listening());
    }

    @Test
    void aRunDirectoryThatIsTooLongForSocketsIsSaidSo() throws Exception {
        Handle handle = running(StartState.SUCCEEDED);
        Layout deep = new Layout(layout.stateDir(), root.resolve("x".repeat(120)), "i");
        try (MachineObserver lost = new MachineObserver(
                deep, proc.procFs, plugins, path -> new MetadataServer.Answer.Absent(), () -> NOW)) {
            var unseen = assertInstanceOf(Observation.Unseen.class, look(lost, handle, Specs.plugin()));
            assertTrue(unseen.why().contains("choose a shorter --run-dir"), unseen.why());
        }
    }

    @Test
    void processesThatCanNotBeSeenAreUnseenAndNotGone() throws Exception {
        Handle handle = running(StartState.SUCCEEDED);
        proc.unreadable("100/stat");

        assertInstanceOf(Observation.Unseen.class, look(observer, handle, Checks.NONE));
    }

    @Test
    void aWorkloadOfWhichThereIsNoTraceIsSeenToBeAbsent() {
        ObservedWorkload absent = ObservedWorkload.absent(Launches.ID);

        ObservedWorkload seen = observer.look(Launches.ID, ImmutableList.of(), Checks.NONE);

        // What could be limited is a matter of this machine, and not of the workload.
        assertEquals(
                List.of(absent.installations(), absent.active(), absent.processes(), absent.residue()),
                List.of(seen.installations(), seen.active(), seen.processes(), seen.residue()));
        assertEquals(Observation.seen(Limits.NONE), seen.limits().map(ObservedLimits::inForce));
    }
}
