package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.Calendar;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.RunRecord.CalendarSince;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.reconcile.plan.LaunchInputs;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;

/** What must be true of a one-shot on a machine on which nothing goes wrong any more. */
final class OneShotChecks {
    /** What nobody tells the agent of it finds at its next resync. */
    private static final Duration LATE = Duration.ofMinutes(16);

    private final VirtualClock clock;
    private final FakeMachine machine;

    OneShotChecks(VirtualClock clock, FakeMachine machine) {
        this.clock = clock;
        this.machine = machine;
    }

    static boolean isOneShot(Declaration declared) {
        return declared.workload().lifecycle().execution().triggers() != null;
    }

    void requireRan(WorkloadId id, Declaration declared) {
        Behaviour behaviour = machine.behaviour(declared.workload());
        if (behaviour == Behaviour.UNFETCHABLE) {
            return;
        }
        Invariant.CONVERGES.require(
                machine.processes.present(id).isEmpty()
                        && machine.store.instances(id).isEmpty(),
                () -> id + " has run to its end, and there is " + machine.processes.present(id));
        WorkloadHistory history = machine.store.history(id);
        OneShotRun run = history.run().oneShot();
        requireInTime(id, declared, history.run());
        if (waitsForItsFirstTime(declared, history.run())) {
            return;
        }
        Invariant.A_DUE_RUN_IS_NOT_LOST.require(
                run != null && run.work().equals(work(declared)), () -> id + " has never run: " + run);
        requireRecent(Objects.requireNonNull(run), triggers(declared));
        boolean completed = run.result() == OneShotRun.Result.COMPLETED;
        Invariant.CONVERGES.require(
                run.result() != OneShotRun.Result.RUNNING
                        && (!completed || behaviour == Behaviour.FINISHES || wasFine(declared)),
                () -> id + " is " + behaviour + " and ended so: " + run);
        for (Condition.Type type : new Condition.Type[] {Condition.Type.CONVERGED, Condition.Type.HEALTHY}) {
            boolean said = history.conditions().stream()
                    .anyMatch(condition -> condition.type() == type && condition.status() == Condition.Status.TRUE);
            Invariant.CONVERGED_IS_SAID.require(said == completed, () -> id + ": " + history.conditions());
        }
    }

    /** Only a calendar makes it run, and none of its times has come since it was declared. */
    private static boolean waitsForItsFirstTime(Declaration declared, RunRecord record) {
        OneShotRun run = record.oneShot();
        boolean ran = run != null && run.work().equals(work(declared));
        return !ran
                && record.calendar() != null
                && triggers(declared)
                        .equals(new Triggers(
                                false, false, null, triggers(declared).schedule()));
    }

    /** The last time of its calendar was seen. */
    private void requireInTime(WorkloadId id, Declaration declared, RunRecord record) {
        Calendar calendar = triggers(declared).schedule();
        if (calendar == null) {
            return;
        }
        CalendarSince counted =
                Objects.requireNonNull(record.calendar(), () -> id + " has a calendar that does not count");
        OneShotRun run = record.oneShot();
        Instant from = run != null
                        && run.work().equals(work(declared))
                        && run.startedAt().isAfter(counted.since())
                ? run.startedAt()
                : counted.since();
        Instant latest = calendar.next(from).orElseThrow().plus(LATE);
        Invariant.A_DUE_RUN_IS_NOT_LOST.require(
                clock.instant().isBefore(latest), () -> id + " has not run at " + latest + " but " + record);
    }

    private static String work(Declaration declared) {
        return LaunchInputs.recorded(declared.workload(), null).getOrDefault("work", "");
    }

    /** It may have been done before something that it needs was spoilt. */
    private static boolean wasFine(Declaration declared) {
        return Behaviour.of(declared.workload().revision()) == Behaviour.FINISHES;
    }

    private static Triggers triggers(Declaration declared) {
        return Objects.requireNonNull(
                declared.workload().lifecycle().execution().triggers());
    }

    private void requireRecent(OneShotRun run, Triggers triggers) {
        Invariant.A_DUE_RUN_IS_NOT_LOST.require(
                !triggers.startup() || run.bootId().equals(machine.processes.bootId()),
                () -> "none in " + machine.processes.bootId() + " but " + run);
        Duration every = triggers.every();
        Duration ago = Duration.between(run.startedAt(), clock.instant());
        Invariant.A_DUE_RUN_IS_NOT_LOST.require(
                every == null || (ago.compareTo(every.negated()) >= 0 && ago.compareTo(every.plus(LATE)) < 0),
                () -> "none since " + ago + " but " + run);
    }
}
