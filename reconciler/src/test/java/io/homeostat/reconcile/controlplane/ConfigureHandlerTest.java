package io.homeostat.reconcile.controlplane;

import static io.homeostat.reconcile.controlplane.Messages.install;
import static io.homeostat.reconcile.controlplane.Messages.remove;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What messages declare, and what is told where the loop has nothing to tell. */
class ConfigureHandlerTest {
    @TempDir
    Path directory;

    private Declaring here;

    @BeforeEach
    void open() {
        here = new Declaring(directory);
    }

    @AfterEach
    void close() {
        here.close();
    }

    @Test
    void installDeclaresAndTheLoopTellsTheRest() {
        here.receive(install("a", "1"));

        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
        assertEquals(List.of(), here.told());
        assertEquals(Declaring.ENDPOINT, here.store().declarations().getFirst().origin());
    }

    @Test
    void aLaterMessageWinsInTheMiddleOfAnInstallationToo() {
        here.receive(install("a", "1")).looked("a").receive(install("a", "2")).receive(install("a", "3"));

        assertEquals(List.of("a 3 controlPlane 3"), here.inForce());
    }

    @Test
    void theSameRevisionWithOtherArgumentsIsAnotherDeclaration() {
        here.receive(install("a", "1")).knownGood("a");

        here.receive(install("a", "1", item -> item.getPluginBuilder().addArguments("--verbose")));

        assertEquals(List.of("a 1 controlPlane 2"), here.inForce());
        assertEquals(ImmutableList.of("--verbose"), program("a").arguments());
        assertEquals(List.of(), here.told());
    }

    @Test
    void theSameRevisionWithAnythingElseIsToldToBeInstalledOnceItIs() {
        here.receive(install("a", "1")).knownGood("a");

        here.receive(install("a", "1", item -> item.getManifestBuilder().setMaxCpuUsagePercentage(20)));

        assertEquals(List.of("a 1 controlPlane 2"), here.inForce());
        assertEquals(List.of("CONFIG_INSTALL a 1"), here.told());
        assertTrue(here.history("a").asked().install());
        for (ConfigurePlugin other : List.of(
                install("a", "1", item -> item.getPluginBuilder().setChecksum("1".repeat(64))),
                install("a", "1", item -> item.getManifestBuilder().setStringConfig("other")))) {
            here.receive(install("a", "1")).told();
            assertFalse(here.history("a").asked().install());

            here.receive(other);

            assertEquals(List.of("CONFIG_INSTALL a 1"), here.told());
            assertTrue(here.history("a").asked().install());
        }
    }

    @Test
    void whatIsInstalledAlreadyIsSaidToBe() {
        here.receive(install("a", "1")).knownGood("a");

        here.receive(install("a", "1"));

        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
        assertEquals(List.of("CONFIG_INSTALL a 1", "INSTALLED a 1"), here.told());
        assertFalse(here.history("a").asked().install());
    }

    @Test
    void whatIsInstalledButDoesNotRunAsDeclaredIsSaidToBeInstalledOnceItDoes() {
        here.receive(install("a", "1"));
        for (Reason reason : List.of(Reason.STOPPED, Reason.PAUSED, Reason.PROCESS_EXITED, Reason.GIVEN_UP)) {
            here.knownGood("a").converged("a", Condition.Status.FALSE, reason);

            here.receive(install("a", "1"));

            assertEquals(List.of("CONFIG_INSTALL a 1"), here.told());
            assertTrue(here.history("a").asked().install());
        }
    }

    @Test
    void whatHasCrashedAndIsInstalledAgainIsTriedAtOnceAndNotSaidToBeInstalled() {
        here.receive(install("a", "1")).knownGood("a").converged("a", Condition.Status.FALSE, Reason.CRASH_LOOP);
        here.remember("a", here.history("a").withRun(here.history("a").run().withCrashes(attempts())));

        here.receive(install("a", "1"));

        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
        assertEquals(List.of("CONFIG_INSTALL a 1"), here.told());
        assertEquals(0, here.history("a").run().crashes().count());
    }

    @Test
    void whatIsStillBeingInstalledIsTriedAtOnceAndNotSaidToBeInstalled() {
        here.receive(install("a", "1")).looked("a");
        WorkloadHistory before = here.history("a");
        here.remember("a", before.withAttempts(before.attempts().withInstall(attempts())));

        here.receive(install("a", "1"));

        assertEquals(List.of("CONFIG_INSTALL a 1"), here.told());
        assertEquals(0, here.history("a").attempts().install().count());
    }

    @Test
    void anUpgradeThatWasUndoneIsSaidToHaveFailedWhenItIsSentAgain() {
        here.receive(install("a", "1"))
                .knownGood("a")
                .receive(install("a", "2"))
                .looked("a");
        FailedRevision failed =
                new FailedRevision(here.declaration("a").hash(), "2", 1, Declaring.NOW, "never started");
        here.remember("a", here.history("a").withFailed(failed));

        here.receive(install("a", "2"));

        assertEquals(List.of("CONFIG_INSTALL a 2", "INSTALL_FAILED a 2"), here.told());
        assertTrue(here.lastWords().contains("never started"), here.lastWords());
        assertEquals(failed, here.history("a").failed());
    }

    @Test
    void backToTheRevisionThatStillRunsIsSaidToBeInstalledOnceItIsSeenSo() {
        here.receive(install("a", "1"))
                .knownGood("a")
                .receive(install("a", "2"))
                .looked("a");

        here.receive(install("a", "1"));

        assertEquals(List.of("CONFIG_INSTALL a 1"), here.told());
        assertTrue(here.history("a").asked().install());
        assertEquals(List.of("a 1 controlPlane 3"), here.inForce());
    }

    @Test
    void removeWithdrawsAndTheLoopTellsTheRest() {
        here.receive(install("a", "1"), install("b", "1")).knownGood("a").knownGood("b");

        here.receive(remove("a"));

        assertEquals(List.of("b 1 controlPlane 1"), here.inForce());
        assertEquals(List.of(), here.told());
    }

    @Test
    void whatWasNeverBegunIsRemovedAtOnce() {
        here.receive(install("a", "1"));

        here.receive(remove("a"));

        assertEquals(List.of(), here.inForce());
        assertEquals(List.of("CONFIG_REMOVE a", "REMOVED a"), here.told());
    }

    @Test
    void whatIsReplacedByTheSameMessageTheLoopTellsToBeRemoved() {
        here.receive(install("a", "1")).knownGood("a");

        here.receive(remove("a"), install("a", "2"));

        assertEquals(List.of(), here.told());
    }

    @Test
    void whatWasNeverBegunAndIsInstalledAgainIsRemovedOnce() {
        here.receive(install("a", "1"));

        here.receive(remove("a"), install("a", "1"));

        assertEquals(List.of("CONFIG_REMOVE a", "REMOVED a"), here.told());
    }

    @Test
    void aRemovalThatIsUnderWayIsNoUnknownName() {
        here.receive(install("a", "1")).knownGood("a").receive(remove("a"));

        here.receive(remove("a"));

        assertEquals(List.of("CONFIG_REMOVE a"), here.told());
    }

    @Test
    void whatNobodyDeclaresCanNotBeRemoved() {
        here.receive(remove("a"));

        assertEquals(List.of("REMOVE_FAILED a"), here.told());
    }

    @Test
    void whatAnotherSourceDeclaresCanNotBeRemovedAndTheEventSaysWhose() {
        here.declaredBy(SourceName.FILES, install("a", "1"));

        here.receive(remove("a"));

        assertEquals(List.of("a 1 files 1"), here.inForce());
        assertEquals(List.of("REMOVE_FAILED a"), here.told());
        assertTrue(here.lastWords().contains("files (/etc/files.yaml)"), here.lastWords());
    }

    @Test
    void whatIsWithdrawnGivesWayToWhoeverElseDeclaresIt() {
        here.declaredBy(SourceName.LOCAL, install("a", "1"))
                .receive(install("a", "1"))
                .knownGood("a");

        here.receive(remove("a"));

        assertEquals(List.of("a 1 local 1"), here.inForce());
        assertEquals(List.of("CONFIG_REMOVE a", "REMOVED a"), here.told());
        assertTrue(here.lastWords().contains("local declares is in force"), here.lastWords());
    }

    @Test
    void ofARevisionThatGivesWayToAnotherOneTheLoopTellsThatItWasRemoved() {
        here.declaredBy(SourceName.LOCAL, install("a", "1"))
                .receive(install("a", "2"))
                .knownGood("a");

        here.receive(remove("a"));

        assertEquals(List.of("a 1 local 1"), here.inForce());
        assertEquals(List.of(), here.told());
        assertNull(here.history("a").lastKnownGood(), "what was removed is nothing to go back to");
    }

    @Test
    void messagesWithoutEffectKeepWhatIsRemembered() {
        here.receive(install("a", "1")).knownGood("a");
        WorkloadHistory before = here.history("a");

        here.receive(install("a", "1"));

        assertEquals(before, here.history("a"));
        assertNotEquals(WorkloadHistory.NONE, before);
    }

    @Test
    void aDocumentIsPrintedOnceAndNeverParsedOnItsWayIntoTheStore() {
        here.receive(install("a", "1"), install("b", "1")).knownGood("a");
        assertEquals(2, here.printed());

        ControlPlaneChange change =
                here.translated(install("a", "1"), Messages.apply("a", "level: debug"), remove("b"), install("c", "1"));
        here.store().receive(change);

        assertEquals(5, here.printed(), "one for each item that declares something");
        for (ToApply declared : change.declared()) {
            assertSame(
                    declared.workload(),
                    here.declaration(declared.workload().id().name()).workload(),
                    "what was stored is not read back from its text");
        }
        assertEquals(List.of("a 1 controlPlane 2", "c 1 controlPlane 1"), here.inForce());
    }

    private Program program(String name) {
        return here.declaration(name).workload().program();
    }

    private static Failures attempts() {
        return Failures.NONE.failed(Declaring.NOW, "it failed", false);
    }
}
