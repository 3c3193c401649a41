package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.ManifestReader;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import java.nio.file.Path;
import java.time.Clock;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Deleting what nobody declares, or somebody else does. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class DeleteTest {
    private static final WorkloadId GHOST = WorkloadId.process("ghost");

    @TempDir
    Path directory;

    @Test
    void whatIsRememberedOnlyByItsLaunchCanBeDeletedAsStatusAdvises() {
        Shell shell = new Shell(directory);
        try (StateStore store = open(shell)) {
            store.commit(Change.ofInstance(launchOfGhost()));
        }

        Shell.Result deleted = shell.run("delete", GHOST.toString());

        assertEquals(0, deleted.status(), deleted.err());
        try (StateStore store = open(shell)) {
            assertTrue(store.instances(GHOST).isEmpty());
        }
    }

    @Test
    void whatCouldNotBeRemovedBeforeIsTriedAtOnce() {
        Shell shell = new Shell(directory);
        Failures failed = new Failures(9, Clock.systemUTC().instant(), "busy", false);
        try (StateStore store = open(shell)) {
            store.commit(Change.ofInstance(launchOfGhost()));
            store.commit(Change.ofHistory(
                    GHOST,
                    WorkloadHistory.DELETED.withAttempts(
                            WorkloadHistory.DELETED.attempts().withUpkeep(failed))));
        }

        Shell.Result deleted = shell.run("delete", GHOST.toString());

        assertEquals(0, deleted.status(), deleted.err());
        try (StateStore store = open(shell)) {
            assertTrue(store.instances(GHOST).isEmpty());
        }
    }

    @Test
    void whatIsThereIsDeletedAndTheRestIsTold() {
        Shell shell = new Shell(directory);
        try (StateStore store = open(shell)) {
            store.commit(Change.ofInstance(launchOfGhost()));
        }

        Shell.Result deleted = shell.run("delete", "process/b", GHOST.toString(), GHOST.toString());

        assertEquals(1, deleted.status());
        assertTrue(deleted.err().contains("delete: process/b was not applied, so it was not deleted"), deleted.err());
        try (StateStore store = open(shell)) {
            assertTrue(store.instances(GHOST).isEmpty());
        }
    }

    @Test
    void whatAControlPlaneDeclaresIsNotDeletedAndTheMessageSaysWhose() {
        Shell shell = new Shell(directory);
        declareByControlPlane(shell);

        Shell.Result deleted = shell.run("delete", "plugin/a");

        assertEquals(1, deleted.status());
        assertTrue(deleted.err().contains("declared by controlPlane (unix:/run/acs.sock)"), deleted.err());
        assertTrue(deleted.err().contains("have it removed there"), deleted.err());
        assertTrue(declares(shell));
    }

    @Test
    void whatAControlPlaneDeclaredThatIsNotConfiguredAnyMoreIsDeletedByTheAgent() {
        Shell shell = new Shell(directory);
        declareByControlPlane(shell);

        try (TestAgent agent = TestAgent.start(shell)) {
            Shell.Result deleted = shell.run("delete", "plugin/a");

            assertEquals(0, deleted.status(), deleted.err());
            assertTrue(deleted.err().contains("not configured any more"), deleted.err());
            assertEquals(1, agent.calls());
        }
        assertFalse(declares(shell));
    }

    @Test
    void whatAControlPlaneDeclaresIsPlannedAndShownWithoutAnAgentToo() {
        Shell shell = new Shell(directory);
        declareByControlPlane(shell);
        try (StateStore store = open(shell)) {
            store.apply(ImmutableList.of(new ToApply(plugin(), "/a.yaml")), ImmutableSet.of("/a.yaml"), false);
        }

        Shell.Result plan = shell.run("plan");
        Shell.Result status = shell.run("status", "plugin/a");
        Shell.Result json = shell.run("status", "-o", "json");

        assertTrue(plan.out().contains("+ plugin/a"), plan.out());
        assertTrue(plan.err().contains("plugin/a: as controlPlane declares it, which overrules applied"), plan.err());
        assertTrue(
                shell.run("plan", "-o", "json")
                        .out()
                        .contains(
                                "\"overruled\":[{\"workload\":\"plugin/a\",\"source\":\"controlPlane\",\"overrules\":[\"applied\"]}]"));
        assertTrue(status.out().contains("controlPlane, overrules applied"), status.out());
        assertTrue(json.out().contains("\"source\":\"controlPlane\",\"overruled\":[\"applied\"]"), json.out());
    }

    private static void declareByControlPlane(Shell shell) {
        try (StateStore store = open(shell)) {
            store.receive(new ControlPlaneChange(
                    ImmutableList.of(new ToApply(plugin(), "unix:/run/acs.sock")),
                    ImmutableSet.of(),
                    ImmutableMap.of(),
                    ImmutableList.of()));
        }
    }

    private static boolean declares(Shell shell) {
        try (StateStore store = open(shell)) {
            return !store.declarations().isEmpty();
        }
    }

    private static Workload plugin() {
        ConfigurePlugin.Builder sent = ConfigurePlugin.newBuilder().setAction(Action.INSTALL);
        sent.getPluginBuilder()
                .setName("a")
                .setRevisionId("1")
                .setGcsSignedUrl("https://bucket.example/a.tar.gz")
                .setEntryPoint("a");
        return ManifestReader.sent(sent.build()).workload().orElseThrow();
    }

    private static StateStore open(Shell shell) {
        return StateStores.openForWriting(shell.layout(), Clock.systemUTC()).store();
    }

    private static Instance launchOfGhost() {
        return new Instance(
                "launch-of-a-ghost",
                GHOST,
                "hash",
                "local",
                null,
                ImmutableSortedMap.of(),
                Clock.systemUTC().instant(),
                null,
                Phase.INTENDED,
                "");
    }
}
