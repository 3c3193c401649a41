package io.homeostat.reconcile.record;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.OneShotRun.Result;
import io.homeostat.desired.state.history.RunRecord.CalendarSince;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.install.Installation;
import io.homeostat.reconcile.plan.KindTraits;
import io.homeostat.reconcile.plan.Schedule;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.Target;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.plan.Work;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is learned of a one-shot's runs. A run begins with its instance, or where that is told to start, when it has; what
 * fails before that is a failed start, tried as often as is declared. How a run ended is told once.
 */
final class OneShotRecorder {
    private OneShotRecorder() {}

    /** An instance of it runs. */
    static Instance alive(Situation situation, Notes notes, Instance instance, Running running) {
        Instance known = instance;
        if (known.phase().isBeforeStart() && startsByItself(instance)) {
            known = known.withPhase(Phase.STARTED, "");
            notes.event(
                    EventType.PLUGIN_STARTED,
                    known.revision(),
                    running.identity().words());
        }
        Declaration declared = situation.declared();
        if (declared != null && known.phase() == Phase.STARTED) {
            begun(situation, notes, known);
            judge(situation, notes, declared, known, running);
        }
        return known;
    }

    /** Its instance is over by itself. */
    static void ended(Situation situation, Notes notes, Instance instance, Exit exit) {
        if (!hasRun(instance, exit)) {
            String words = exit.sentence();
            notes.failure(EventType.PLUGIN_START_FAILED, instance.revision(), FailureCause.of(exit), words);
            notes.launchFailed(instance.target(), FailureCause.of(exit), notes.explained(words), false);
            return;
        }
        if (instance.phase() != Phase.STARTED) {
            notes.event(EventType.PLUGIN_STARTED, instance.revision(), "");
        }
        begun(situation, notes, instance);
        underWay(notes, instance).ifPresent(run -> {
            Integer code = exit.code();
            if (exit.reason() == Exit.Reason.EXITED && code != null && code == 0) {
                conclude(notes, instance, run.completed(exit.at(), exit));
            } else {
                String words = exit.sentence();
                conclude(notes, instance, run.failed(exit.at(), exit, notes.explained(words)), words);
            }
        });
    }

    /** Its instance was stopped before it was over: what is not wanted any more, or is to run again, has not run; anything else has failed. */
    static void stopped(Situation situation, Notes notes, Step.Stop step) {
        underWay(notes, step.instance()).ifPresent(run -> {
            switch (step.cause()) {
                case REMOVED, DISABLED, REQUESTED, REPLACED, REPAIRED -> notes.run(books -> books.withOneShot(null));
                case UNDONE, UNHEALTHY, START_FAILED, DRIFTED, SURPLUS, RUN_OVER -> {
                    Exit exit = new Exit(null, null, Exit.Reason.STOPPED, situation.now());
                    conclude(notes, step.instance(), run.failed(situation.now(), exit, "process was stopped"));
                }
            }
        });
    }

    /** It could not be launched, or did not start. */
    static void startFailed(Situation situation, Notes notes, Declaration declared, String error, boolean fatal) {
        Failures starts = notes.history().attempts().start().failed(situation.now(), error, fatal);
        if (!fatal && starts.count() < declared.workload().lifecycle().start().attempts()) {
            notes.attempts(attempts -> attempts.withStart(starts));
            return;
        }
        notes.attempts(attempts -> attempts.withStart(Failures.NONE));
        OneShotRun run = OneShotRun.begun(
                        Work.of(declared.workload()),
                        "",
                        bootId(situation),
                        situation.host().instanceId(),
                        situation.now())
                .failed(situation.now(), null, error);
        // Who asked for a run has got one, even if it came to nothing.
        notes.run(books -> books.withOneShot(run).withAgain(null));
        boolean neverRan = ObservationRecorder.isNewProgram(notes.history().lastKnownGood(), declared.workload());
        notes.event(
                neverRan ? EventType.PLUGIN_INSTALL_FAILED : EventType.PLUGIN_EXECUTION_FAILED,
                declared.workload().revision(),
                error);
    }

    private static String bootId(Situation situation) {
        return situation.host().bootId() instanceof Observation.Seen<String>(String id) ? id : "";
    }

    /** What has begun to run is installed: it is what is kept, and what another revision takes the place of. */
    static void prove(Situation situation, Notes notes) {
        Declaration declared = situation.declared();
        OneShotRun run = notes.history().run().oneShot();
        if (declared == null
                || run == null
                || !run.hasStarted()
                || !declared.workload().isOneShot()
                || !run.work().equals(Work.of(declared.workload()))
                || !(situation.seen().installations()
                        instanceof Observation.Seen<ImmutableList<Installation>>(var installations))) {
            return;
        }
        Target target = Target.of(declared.workload(), declared.hash(), installations);
        if (target.installed()) {
            notes.knownGood(declared, target);
        }
    }

    /**
     * What ran to its end before it was declared to run for ever is not what may be declared to run to its end after that. But as long
     * as its instance is looked at, be it for the last time, it would be taken for one that nobody has heard of, and its end would be
     * told again.
     */
    static void forget(Declaration declared, Notes notes, List<ObservedInstance> instances) {
        OneShotRun run = notes.history().run().oneShot();
        if (run != null
                && !declared.workload().isOneShot()
                && instances.stream().noneMatch(process -> run.isOf(process.instance()))) {
            notes.run(books -> books.withOneShot(null));
        }
    }

    /** From when on its calendar counts. */
    static void count(Situation situation, Declaration declared, Notes notes) {
        CalendarSince counted = Schedule.calendar(situation, declared).orElse(null);
        if (!Objects.equals(counted, notes.history().run().calendar())) {
            notes.run(books -> books.withCalendar(counted));
        }
    }

    private static void begun(Situation situation, Notes notes, Instance instance) {
        OneShotRun last = notes.history().run().oneShot();
        if (last != null && last.isOf(instance)) {
            return;
        }
        Identity identity = instance.identity();
        String boot = identity == null ? null : identity.bootId();
        OneShotRun run = OneShotRun.begun(
                Work.of(instance).orElse(""),
                instance.launchId(),
                boot == null ? bootId(situation) : boot,
                situation.host().instanceId(),
                instance.launchedAt());
        notes.run(books -> books.withOneShot(run).withAgain(null));
        notes.attempts(attempts -> attempts.withStart(Failures.NONE));
        prove(situation, notes);
    }

    /** Some say themselves when they are done, and nothing may take longer than declared. The instance is stopped afterwards. */
    private static void judge(
            Situation situation, Notes notes, Declaration declared, Instance instance, Running running) {
        if (situation.pause() != null || !declared.workload().isOneShot()) {
            return;
        }
        underWay(notes, instance).ifPresent(run -> {
            if (isDone(declared, running.health())) {
                conclude(notes, instance, run.completed(situation.now(), null));
            } else if (running.age().compareTo(Schedule.timeout(declared)) >= 0) {
                Exit exit = new Exit(null, null, Exit.Reason.TIMED_OUT, situation.now());
                String error = "not done within " + Notation.text(Schedule.timeout(declared));
                conclude(notes, instance, run.failed(situation.now(), exit, error));
            }
        });
    }

    /** What says itself when it is done and answers code 0 has nothing left to do; by any other code it says that it is still at it. */
    private static boolean isDone(Declaration declared, @Nullable Health health) {
        return Traits.of(declared.workload()).completion() == Traits.Completion.STATUS
                && health != null
                && health.verdict() == Health.Verdict.HEALTHY
                && health.code() == 0;
    }

    private static Optional<OneShotRun> underWay(Notes notes, Instance instance) {
        return Optional.ofNullable(notes.history().run().oneShot())
                .filter(run -> run.isOf(instance) && run.result() == Result.RUNNING);
    }

    private static void conclude(Notes notes, Instance instance, OneShotRun over) {
        conclude(notes, instance, over, over.error());
    }

    /** @param error what the event tells of a failure */
    private static void conclude(Notes notes, Instance instance, OneShotRun over, String error) {
        notes.run(books -> books.withOneShot(over));
        Duration took = Objects.requireNonNull(over.duration()).truncatedTo(ChronoUnit.MILLIS);
        String after = "after " + Notation.text(took);
        if (over.result() == Result.COMPLETED) {
            notes.event(EventType.PLUGIN_EXECUTION_COMPLETED, instance.revision(), after);
        } else {
            notes.event(EventType.PLUGIN_EXECUTION_FAILED, instance.revision(), error + ", " + after);
        }
    }

    /** Whether it ran: what is told to start only after that, all else unless nothing is known of it, as when we died before its launch. */
    private static boolean hasRun(Instance instance, Exit exit) {
        boolean known = instance.identity() != null || exit.reason() != Exit.Reason.UNKNOWN;
        return instance.phase() == Phase.STARTED || (startsByItself(instance) && known);
    }

    private static boolean startsByItself(Instance instance) {
        return !KindTraits.of(instance.workload().kind()).isStartedExplicitly();
    }
}
