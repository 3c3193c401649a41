package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.Condition;
import io.homeostat.desired.store.Event;
import io.homeostat.desired.store.StoredEvent;
import io.homeostat.reconcile.loop.Next;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The sequences of events that control planes written for the guest agent expect, on a fake machine without faults. */
class EventSequencesTest {
    private static final WorkloadId ID = WorkloadId.plugin("p");

    private final VirtualClock clock = new VirtualClock();
    private final Declarations desired = new Declarations();
    private final FakeMachine machine = new FakeMachine(Dice.kind(List.of(ID)), clock, desired, 1);
    private final FakeStore store = machine.store;
    private final WorkloadPass pass = new WorkloadPass(
            machine.asked, machine.observer, machine.executor, store, clock, id -> "last words", new Silence());
    private long told;

    @Test
    void anInstallation() {
        declare("GOOD-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "STARTED A", "INSTALLED A"), happens());
    }

    @Test
    void anInstallationThatCanNotBeFetched() {
        declare("UNFETCHABLE-A", "c");

        assertEquals(List.of("CONFIG_INSTALL A", "INSTALL_FAILED A"), happens());
    }

    @Test
    void anInstallationThatDoesNotStart() {
        declare("START_ERROR-A", "c");

        assertEquals(
                List.of("CONFIG_INSTALL A", "START_FAILED A", "START_FAILED A", "START_FAILED A", "INSTALL_FAILED A"),
                happens());
    }

    @Test
    void anUpgrade() {
        declare("GOOD-A", "c");
        happens();
        declare("GOOD-B", "c");

        assertEquals(
                List.of("CONFIG_INSTALL B", "CONFIG_REMOVE A", "STOPPED A", "REMOVED A", "STARTED B", "INSTALLED B"),
                happens());
    }

    @Test
    void anUpgradeThatCanNotBeFetchedLeavesTheOldRevisionRunning() {
        declare("GOOD-A", "c");
        happens();
        declare("UNFETCHABLE-B", "c");

        assertEquals(List.of("CONFIG_INSTALL B", "INSTALL_FAILED B"), happens());
        assertEquals("GOOD-A", machine.living(ID).get(0).launched.revision());
    }

    @Test
    void anUpgradeThatDoesNotStartIsUndone() {
        declare("GOOD-A", "c");
        happens();
        declare("EXITS_AT_ONCE-B", "c");

        List<String> events = happens();

        assertEquals(
                List.of(
                        "CONFIG_INSTALL B",
                        "CONFIG_REMOVE A",
                        "STOPPED A",
                        "REMOVED A",
                        "START_FAILED B",
                        "START_FAILED B",
                        "START_FAILED B",
                        "INSTALL_FAILED B",
                        "AGENT_ROLLED_BACK B",
                        "STARTED A"),
                events);
        assertEquals("GOOD-A", machine.living(ID).get(0).launched.revision());
        assertEquals(
                Condition.Status.TRUE, condition(Condition.Type.ROLLED_BACK).status());
        assertEquals(Condition.Status.FALSE, condition(Condition.Type.CONVERGED).status());
        assertTrue(condition(Condition.Type.ROLLED_BACK).message().contains("EXITS_AT_ONCE-B"));
    }

    @Test
    void aRemoval() {
        declare("GOOD-A", "c");
        happens();
        desired.withdraw(ID);

        assertEquals(List.of("CONFIG_REMOVE A", "STOPPED A", "REMOVED A"), happens());
        assertTrue(store.histories().isEmpty());
    }

    @Test
    void aConfigurationThatIsAppliedInPlace() {
        declare("GOOD-A", "c");
        happens();
        declare("GOOD-A", "d");

        assertEquals(List.of("CONFIG_APPLY A", "CONFIG_APPLIED A"), happens());
    }

    @Test
    void aConfigurationThatNeedsARestart() {
        declare("APPLY_UNSUPPORTED-A", "c");
        happens();
        declare("APPLY_UNSUPPORTED-A", "d");

        assertEquals(List.of("CONFIG_APPLY A", "STOPPED A", "STARTED A", "CONFIG_APPLIED A"), happens());
    }

    @Test
    void aCrashTellsTheLastWords() {
        declare("GOOD-A", "c");
        happens();
        machine.kill(ID, 0);

        assertEquals(List.of("CRASHED A", "STARTED A"), happens());
        Event crash = store.events(0, 100).stream()
                .map(StoredEvent::event)
                .filter(event -> event.type().name().equals("PLUGIN_CRASHED"))
                .findFirst()
                .orElseThrow();
        assertTrue(crash.message().endsWith("last words"), crash.message());
    }

    @Test
    void whatIsDeclaredAgainBeforeItIsGoneIsToldToBeDeclared() {
        declare("GOOD-A", "c");
        happens();
        desired.withdraw(ID);
        pass.run(ID);
        declare("GOOD-A", "c");

        assertEquals(List.of("CONFIG_REMOVE A", "STOPPED A", "CONFIG_INSTALL A", "STARTED A"), happens());
    }

    @Test
    void whatIsStoppedToBeReplacedSaysWhy() {
        declare("GOOD-A", "c");
        happens();
        desired.declare(ID, "GOOD-A", ImmutableList.of("-v"), "c");

        assertEquals(List.of("CONFIG_INSTALL A", "STOPPED A", "STARTED A", "INSTALLED A"), happens());
        Event stop = store.events(0, 100).stream()
                .map(StoredEvent::event)
                .filter(event -> event.type().name().equals("PLUGIN_STOPPED"))
                .findFirst()
                .orElseThrow();
        assertTrue(stop.message().startsWith("arguments changed; "), stop.message());
    }

    @Test
    void nothingHappensToWhatIsAsItShouldBe() {
        declare("GOOD-A", "c");
        happens();

        assertEquals(List.of(), happens());
        assertFalse(condition(Condition.Type.CONVERGED).status() != Condition.Status.TRUE);
    }

    private void declare(String revision, String config) {
        desired.declare(ID, revision, ImmutableList.of(), config);
    }

    private Condition condition(Condition.Type type) {
        return store.history(ID).conditions().stream()
                .filter(condition -> condition.type() == type)
                .findFirst()
                .orElseThrow();
    }

    /** Runs passes until nothing is to be done, or something has failed for now; what was told meanwhile. */
    private List<String> happens() {
        boolean goesOn = true;
        while (goesOn) {
            Next next = pass.run(ID);
            goesOn = switch (next) {
                case Next.Again again -> true;
                case Next.Settled settled -> false;
                case Next.Later later -> {
                    boolean progress = later.until().kind() == Step.Wait.Kind.PROGRESS;
                    if (progress) {
                        clock.advance(
                                Duration.between(clock.instant(), later.until().until()));
                    }
                    yield progress;
                }
            };
        }
        ImmutableList<StoredEvent> fresh = store.events(told, 1000);
        told += fresh.size();
        return fresh.stream()
                .map(StoredEvent::event)
                .map(event -> event.type().name().replace("PLUGIN_", "") + " "
                        + event.revision().substring(event.revision().indexOf('-') + 1))
                .toList();
    }

    private static final class Silence implements PassListener {
        @Override
        public void starting(Step step) {
            // The store tells.
        }

        @Override
        public void finished(WorkloadId id, Next next) {
            // The store tells.
        }

        @Override
        public void broken(WorkloadId id, Throwable problem) {
            throw new AssertionError(problem);
        }
    }
}
