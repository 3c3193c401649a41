package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Execution;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Notation;
import io.homeostat.desired.store.Attempts;
import io.homeostat.desired.store.EventType;
import io.homeostat.desired.store.Exit;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.Handle.StartState;
import io.homeostat.desired.store.OneShotRun;
import io.homeostat.desired.store.OneShotRun.Result;
import io.homeostat.desired.store.ProcessIdentity;
import io.homeostat.observe.Health;
import io.homeostat.observe.Installation;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedProcess;
import io.homeostat.observe.ObservedProcess.Liveness.Running;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is learned of a one-shot's runs. A process's run begins with its process and a plugin's when its Start has succeeded; what
 * fails before that is a failed start, tried as often as is declared. How a run ended is told once.
 */
final class Runs {
    private Runs() {}

    /** A process of it runs. */
    static Handle alive(Situation situation, Notes notes, Handle handle, Running running) {
        Handle known = handle;
        if (known.start() == StartState.NOT_SENT && handle.workload().kind() == Kind.PROCESS) {
            known = known.withStart(StartState.SUCCEEDED, "");
            notes.event(
                    EventType.PLUGIN_STARTED,
                    known.revision(),
                    "pid " + running.identity().pid());
        }
        Declaration declared = situation.declared();
        if (declared != null && known.start() == StartState.SUCCEEDED) {
            begun(situation, notes, known);
            judge(situation, notes, declared, known, running);
        }
        return known;
    }

    /** Its process is over by itself. */
    static void ended(Situation situation, Notes notes, Handle handle, Exit exit) {
        if (!hasRun(handle, exit)) {
            String words = "process " + exit.words();
            notes.failure(EventType.PLUGIN_START_FAILED, handle.revision(), words);
            Failures.ofLaunch(situation, notes, handle.target(), words, false);
            return;
        }
        if (handle.start() != StartState.SUCCEEDED) {
            notes.event(EventType.PLUGIN_STARTED, handle.revision(), "");
        }
        begun(situation, notes, handle);
        underWay(notes, handle).ifPresent(run -> {
            Integer code = exit.code();
            if (exit.reason() == Exit.Reason.EXITED && code != null && code == 0) {
                conclude(notes, handle, run.completed(exit.at(), exit));
            } else {
                conclude(notes, handle, run.failed(exit.at(), exit, "process " + exit.words()));
            }
        });
    }

    /** Its process was stopped before it was over: what is not wanted any more has not run, anything else has failed. */
    static void stopped(Situation situation, Notes notes, Step.Stop step) {
        underWay(notes, step.handle()).ifPresent(run -> {
            switch (step.cause()) {
                case REMOVED, DISABLED, REQUESTED, REPLACED -> notes.run(books -> books.withOneShot(null));
                case UNDONE, UNHEALTHY, START_FAILED, DRIFTED, REPAIRED, SURPLUS, RUN_OVER -> {
                    Exit exit = new Exit(null, null, Exit.Reason.STOPPED, situation.now());
                    conclude(notes, step.handle(), run.failed(situation.now(), exit, "process was stopped"));
                }
            }
        });
    }

    /** It could not be launched, or did not start. */
    static void startFailed(Situation situation, Notes notes, Declaration declared, String error, boolean fatal) {
        Attempts starts = notes.history().trial().start().failed(situation.now(), error, fatal);
        if (!fatal && starts.count() < declared.workload().program().start().attempts()) {
            notes.trial(trial -> trial.withStart(starts));
            return;
        }
        notes.trial(trial -> trial.withStart(Attempts.NONE));
        String bootId = situation.host().bootId() instanceof Observation.Seen<String>(String id) ? id : "";
        OneShotRun run = OneShotRun.begun(
                        Work.of(declared.workload()),
                        "",
                        bootId,
                        situation.host().instanceId(),
                        situation.now())
                .failed(situation.now(), null, error);
        notes.run(books -> books.withOneShot(run));
        boolean neverRan = Bookkeeping.isNewProgram(notes.history().proven(), declared.workload());
        notes.event(
                neverRan ? EventType.PLUGIN_INSTALL_FAILED : EventType.PLUGIN_EXECUTION_FAILED,
                declared.workload().revision(),
                error);
    }

    /** What has begun to run is installed: it is what is kept, and what another revision takes the place of. */
    static void prove(Situation situation, Notes notes) {
        Declaration declared = situation.declared();
        OneShotRun run = notes.history().run().oneShot();
        if (declared == null
                || run == null
                || !run.hasStarted()
                || !Work.isOneShot(declared.workload())
                || !run.work().equals(Work.of(declared.workload()))
                || !(situation.seen().installations()
                        instanceof Observation.Seen<ImmutableList<Installation>>(var installations))) {
            return;
        }
        Target target = Target.of(declared.workload(), declared.hash(), installations);
        if (target.installed()) {
            Proof.note(notes, declared, target);
        }
    }

    /**
     * What ran to its end before it was declared to run for ever is not what may be declared to run to its end after that. But as long
     * as its process is looked at, be it for the last time, it would be taken for one that nobody has heard of, and its end would be
     * told again.
     */
    static void forget(Declaration declared, Notes notes, List<ObservedProcess> processes) {
        OneShotRun run = notes.history().run().oneShot();
        if (run != null
                && !Work.isOneShot(declared.workload())
                && processes.stream().noneMatch(process -> run.isOf(process.handle()))) {
            notes.run(books -> books.withOneShot(null));
        }
    }

    /** How long a run may take, from its launch. */
    static Duration timeout(Declaration declared) {
        Duration timeout = declared.workload().program().execution().timeout();
        return timeout == null ? Execution.DEFAULT_TIMEOUT : timeout;
    }

    private static void begun(Situation situation, Notes notes, Handle handle) {
        OneShotRun last = notes.history().run().oneShot();
        if (last != null && last.isOf(handle)) {
            return;
        }
        ProcessIdentity identity = handle.identity();
        OneShotRun run = OneShotRun.begun(
                Work.of(handle).orElse(""),
                handle.launchId(),
                identity == null ? "" : identity.bootId(),
                situation.host().instanceId(),
                handle.launchedAt());
        notes.run(books -> books.withOneShot(run));
        notes.trial(trial -> trial.withStart(Attempts.NONE));
        prove(situation, notes);
    }

    /** A plugin says itself when it is done, and nothing may take longer than declared. Its process is stopped afterwards. */
    private static void judge(Situation situation, Notes notes, Declaration declared, Handle handle, Running running) {
        if (situation.pause() != null || !Work.isOneShot(declared.workload())) {
            return;
        }
        underWay(notes, handle).ifPresent(run -> {
            if (isDone(handle, running.health())) {
                conclude(notes, handle, run.completed(situation.now(), null));
            } else if (running.age().compareTo(timeout(declared)) >= 0) {
                Exit exit = new Exit(null, null, Exit.Reason.TIMED_OUT, situation.now());
                String error = "not done within " + Notation.text(timeout(declared));
                conclude(notes, handle, run.failed(situation.now(), exit, error));
            }
        });
    }

    /** A started plugin that answers code 0 has nothing left to do; by any other code it says that it is still at it. */
    private static boolean isDone(Handle handle, @Nullable Health health) {
        return handle.workload().kind() == Kind.PLUGIN
                && health != null
                && health.verdict() == Health.Verdict.HEALTHY
                && health.code() == 0;
    }

    private static Optional<OneShotRun> underWay(Notes notes, Handle handle) {
        return Optional.ofNullable(notes.history().run().oneShot())
                .filter(run -> run.isOf(handle) && run.result() == Result.RUNNING);
    }

    private static void conclude(Notes notes, Handle handle, OneShotRun over) {
        notes.run(books -> books.withOneShot(over));
        Duration took = Objects.requireNonNull(over.duration()).truncatedTo(ChronoUnit.MILLIS);
        String after = "after " + Notation.text(took);
        if (over.result() == Result.COMPLETED) {
            notes.event(EventType.PLUGIN_EXECUTION_COMPLETED, handle.revision(), after);
        } else {
            notes.event(EventType.PLUGIN_EXECUTION_FAILED, handle.revision(), over.error() + ", " + after);
        }
    }

    /** Whether its program ran: a plugin's after Start, a process's unless nothing is known of it, as when we died before its launch. */
    private static boolean hasRun(Handle handle, Exit exit) {
        boolean known = handle.identity() != null || exit.reason() != Exit.Reason.UNKNOWN;
        return handle.start() == StartState.SUCCEEDED || (handle.workload().kind() == Kind.PROCESS && known);
    }
}
