package io.homeostat.reconcile.plan;

import static io.homeostat.reconcile.plan.OneShotExample.NOW;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.Calendar;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.ObservedInstance.Liveness;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What is planned for a one-shot, as a table. Its timeout is a minute. */
class OneShotPlanningTest {
    private static final Triggers STARTUP = new Triggers(true, false, null);
    private static final Triggers FIRST_BOOT = new Triggers(false, true, null);
    private static final Triggers HOURLY = new Triggers(false, false, Duration.ofHours(1));
    private static final Triggers NIGHTLY = new Triggers(false, false, null, new Calendar("0 2 * * *", "UTC"));
    private static final Duration YOUNG = Duration.ofSeconds(5);

    private record Row(String situation, String planned, OneShotExample scene) {}

    private static Row row(String situation, String planned, OneShotExample scene) {
        return new Row(situation, planned, scene);
    }

    @TestFactory
    Stream<DynamicTest> whatIsPlannedFromWhatIsThere() {
        return Stream.of(triggers(), calendars(), requests(), runs(), plugins(), upgrades())
                .flatMap(List::stream)
                .map(row -> DynamicTest.dynamicTest(
                        row.situation(),
                        () -> assertEquals(row.planned(), row.scene().planned())));
    }

    private static List<Row> triggers() {
        return List.of(
                row("newly declared, it is due", "install NOT_INSTALLED: launch", process("A", STARTUP)),
                row(
                        "one that waits for a first boot, too: this is the first it sees",
                        "install NOT_INSTALLED: launch",
                        process("A", FIRST_BOOT)),
                row("and one with an interval", "install NOT_INSTALLED: launch", process("A", HOURLY)),
                row(
                        "once it ran in this boot, it rests",
                        "none AT_DESIRED_STATE",
                        process("A", STARTUP).ran(NOW)),
                row(
                        "in another boot it runs again",
                        "run RUN_DUE: launch",
                        process("A", STARTUP).ran(NOW).boot("other")),
                row(
                        "without a boot id nobody can tell",
                        "wait CANNOT_OBSERVE: wait",
                        process("A", STARTUP).ran(NOW).boot(null)),
                row(
                        "what ran on this instance doesn't run at its next boot",
                        "none AT_DESIRED_STATE",
                        process("A", FIRST_BOOT).ran(NOW).boot("other")),
                row(
                        "on a clone it does",
                        "run RUN_DUE: launch",
                        process("A", FIRST_BOOT).ran(NOW).instance("clone")),
                row(
                        "before its interval is over it rests until then",
                        "none AT_DESIRED_STATE until 2026-11-20T12:00:01Z",
                        process("A", HOURLY).ran(NOW.minusSeconds(3599))),
                row(
                        "when its interval is over it runs",
                        "run RUN_DUE: launch",
                        process("A", HOURLY).ran(NOW.minusSeconds(3600))),
                row(
                        "after a hundred intervals it runs once",
                        "run RUN_DUE: launch",
                        process("A", HOURLY).ran(NOW.minusSeconds(360_000))),
                row(
                        "a run in the future was before the clock was set back: its interval is waited for",
                        "none AT_DESIRED_STATE until 2026-11-20T14:00:00Z",
                        process("A", HOURLY).ran(NOW.plusSeconds(3600))),
                row(
                        "but not when that is further away than one interval: it is due",
                        "run RUN_DUE: launch",
                        process("A", HOURLY).ran(NOW.plusSeconds(3601))),
                row(
                        "a failed run counts as one, and is shown",
                        "wait RUN_FAILED: wait",
                        process("A", STARTUP).failed(NOW)),
                row(
                        "one that somebody wants tried again is followed by another at once",
                        "run RUN_DUE: launch",
                        process("A", STARTUP).failed(NOW).retried()),
                row(
                        "also on the same instance",
                        "run RUN_DUE: launch",
                        process("A", FIRST_BOOT).failed(NOW).retried()),
                row(
                        "and within its interval",
                        "run RUN_DUE: launch",
                        process("A", HOURLY).failed(NOW).retried()),
                row(
                        "a failed run is followed by another when the interval is over",
                        "run RUN_DUE: launch",
                        process("A", HOURLY).failed(NOW.minusSeconds(3600))));
    }

    @Test
    void onlyAnAgentIsSaidToRunItAgainAtATime() {
        OneShotExample failed = process("A", HOURLY).failed(NOW);
        assertTrue(failed.message().contains("; runs again at 2026-11-20T"), failed::message);

        String once = failed.under(Policy.NONE.once()).message();
        assertTrue(once.endsWith("; no agent runs that would run it again, the next homeostat apply of it does"), once);

        String nightly =
                process("A", NIGHTLY).failed(NOW).under(Policy.NONE.once()).message();
        assertTrue(
                nightly.endsWith("; an agent would run it again at 2026-11-21T02:00:00Z, none runs; homeostat trigger "
                        + "process/p does it now"),
                nightly);
    }

    private static List<Row> calendars() {
        Instant yesterday = NOW.minus(Duration.ofDays(1));
        return List.of(
                row(
                        "newly declared, it waits for the next time",
                        "none AT_DESIRED_STATE until 2026-11-21T02:00:00Z",
                        process("A", NIGHTLY)),
                row(
                        "a time that has come since it was declared makes it run",
                        "install NOT_INSTALLED: launch",
                        process("A", NIGHTLY).counts(yesterday)),
                row(
                        "once it ran, it rests until the next time",
                        "none AT_DESIRED_STATE until 2026-11-21T02:00:00Z",
                        process("A", NIGHTLY).counts(yesterday).ran(Instant.parse("2026-11-20T02:00:00Z"))),
                row(
                        "of many times that were missed one is made up for",
                        "run RUN_DUE: launch",
                        process("A", NIGHTLY)
                                .counts(yesterday.minusSeconds(1_000_000))
                                .ran(yesterday)),
                row(
                        "a failed run counts as one",
                        "wait RUN_FAILED: wait",
                        process("A", NIGHTLY).counts(yesterday).failed(Instant.parse("2026-11-20T02:00:00Z"))),
                row(
                        "also when somebody wants what failed tried again: its time does not come back",
                        "wait RUN_FAILED: wait",
                        process("A", NIGHTLY)
                                .counts(yesterday)
                                .failed(Instant.parse("2026-11-20T02:00:00Z"))
                                .retried()),
                row(
                        "another calendar counts from now on, whatever it would have meant before",
                        "none AT_DESIRED_STATE until 2026-11-20T23:00:00Z",
                        process("A", NIGHTLY)
                                .counts(yesterday)
                                .ran(yesterday)
                                .wants(
                                        "A",
                                        new Triggers(false, false, null, new Calendar("0 0 * * *", "Europe/Berlin")))),
                row(
                        "after the clock was set back by an hour it is the same time that is waited for",
                        "none AT_DESIRED_STATE until 2026-11-21T02:00:00Z",
                        process("A", NIGHTLY).counts(NOW.plusSeconds(3600))),
                row(
                        "and not for years, when it was wrong by years: it is due",
                        "run RUN_DUE: launch",
                        process("A", NIGHTLY).counts(yesterday).ran(NOW.plus(Duration.ofDays(1000)))));
    }

    private static List<Row> requests() {
        return List.of(
                row(
                        "what somebody asks for is run, whatever its triggers say",
                        "run RUN_DUE: launch",
                        process("A", STARTUP).ran(NOW).asked("launch-then")),
                row(
                        "also what has never run",
                        "install NOT_INSTALLED: launch",
                        process("A", NIGHTLY).asked("")),
                row(
                        "once: a later run was the one that was asked for",
                        "none AT_DESIRED_STATE",
                        process("A", STARTUP).ran(NOW).asked("launch-before")));
    }

    private static List<Row> runs() {
        return List.of(
                row(
                        "a run under way is waited for",
                        "wait RUN_UNDER_WAY: wait",
                        process("A", STARTUP).runs("A", YOUNG)),
                row(
                        "also when its interval is over meanwhile: never two at once",
                        "wait RUN_UNDER_WAY: wait",
                        process("A", new Triggers(false, false, Duration.ofSeconds(1)))
                                .runs("A", YOUNG)),
                row(
                        "one that takes too long is stopped, and not launched again",
                        "stop RUN_TIMED_OUT: stop",
                        process("A", STARTUP).runs("A", Duration.ofMinutes(1))),
                row(
                        "what a run leaves behind is stopped",
                        "stop RUN_OVER: stop",
                        process("A", STARTUP)
                                .ran(NOW)
                                .is("A", new Liveness.Orphaned(new Exit(0, null, Exit.Reason.EXITED, NOW), 2))),
                row(
                        "of two processes the older one goes, while the run of the other goes on",
                        "stop PROCESS_SURPLUS: stop",
                        process("A", STARTUP).runs("A", YOUNG).runs("A", YOUNG)),
                row(
                        "and so does what an earlier run left behind",
                        "stop RUN_OVER: stop",
                        process("A", STARTUP)
                                .is("A", new Liveness.Orphaned(new Exit(0, null, Exit.Reason.EXITED, NOW), 2))
                                .runs("A", YOUNG)),
                row(
                        "between two attempts to begin is a pause",
                        "wait START_FAILED: wait",
                        process("A", STARTUP).startFailed(1, NOW)),
                row(
                        "which ends",
                        "install NOT_INSTALLED: launch",
                        process("A", STARTUP).startFailed(1, NOW.minusSeconds(1))),
                row(
                        "a process that was launched as a daemon gives way",
                        "run EXECUTION_CHANGED: stop launch",
                        process("A", STARTUP).daemon("A")),
                row(
                        "but not before what takes its place is there",
                        "restart EXECUTION_CHANGED: download unpack stop launch",
                        process("A", STARTUP).daemon("A").notInstalled()));
    }

    private static List<Row> plugins() {
        return List.of(
                row("a plugin is started, too", "install NOT_INSTALLED: launch start", plugin("A", STARTUP)),
                row(
                        "it is waited for until it listens",
                        "wait START_NOT_FINISHED: wait start",
                        plugin("A", STARTUP).launched("A", Phase.CREATED, false, null)),
                row(
                        "then it gets Start",
                        "run START_NOT_FINISHED: start",
                        plugin("A", STARTUP).launched("A", Phase.CREATED, true, null)),
                row(
                        "one of which nobody knows whether it got Start is launched anew: it has not begun",
                        "restart START_NOT_FINISHED: stop launch start",
                        plugin("A", STARTUP).launched("A", Phase.START_SENT, true, null)),
                row(
                        "one that does not listen in time is launched anew",
                        "restart START_FAILED: stop launch start",
                        plugin("A", STARTUP).runs("A", Duration.ofSeconds(30))),
                row(
                        "one that has not begun makes room for what is declared by now",
                        "restart REVISION_CHANGED: stop launch start collectGarbage",
                        plugin("A", STARTUP).runs("A", YOUNG).wants("B", STARTUP)),
                row(
                        "one that answers another code than 0 is still at it",
                        "wait RUN_UNDER_WAY: wait",
                        plugin("A", STARTUP).launched("A", Phase.STARTED, true, 1)),
                row(
                        "one that answers 0 is done, and stopped",
                        "stop RUN_OVER: stop",
                        plugin("A", STARTUP).launched("A", Phase.STARTED, true, 0)),
                row(
                        "one that does not answer is left to its timeout",
                        "wait RUN_UNDER_WAY: wait",
                        plugin("A", STARTUP).launched("A", Phase.STARTED, true, null)));
    }

    private static List<Row> upgrades() {
        return List.of(
                row(
                        "another revision has not run yet",
                        "upgrade REVISION_CHANGED: launch",
                        process("A", STARTUP).ran(NOW).wants("B", STARTUP)),
                row(
                        "neither have other arguments",
                        "run RUN_DUE: launch",
                        process("A", STARTUP).ran(NOW).wants("A", STARTUP, "-v")),
                row(
                        "another trigger that had fired when it ran is answered for",
                        "none AT_DESIRED_STATE",
                        process("A", STARTUP).ran(NOW).wants("A", FIRST_BOOT)),
                row(
                        "the run of the old revision comes to its end first",
                        "wait RUN_UNDER_WAY: wait",
                        process("A", STARTUP).runs("A", YOUNG).wants("B", STARTUP)),
                row(
                        "what runs then is fetched meanwhile, and the run is looked at as often as without that",
                        "upgrade REVISION_CHANGED: download unpack until 2026-11-20T12:00:00.500Z",
                        process("A", STARTUP)
                                .runs("A", YOUNG)
                                .wants("B", STARTUP)
                                .notInstalled()));
    }

    private static OneShotExample process(String revision, Triggers triggers) {
        return new OneShotExample(WorkloadId.process("p")).wants(revision, triggers);
    }

    private static OneShotExample plugin(String revision, Triggers triggers) {
        return new OneShotExample(WorkloadId.plugin("p")).wants(revision, triggers);
    }
}
