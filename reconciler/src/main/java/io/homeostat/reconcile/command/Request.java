package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import java.time.Duration;

/** What was asked for that concerns a state directory: done on the directory itself, or by the agent that runs on it. */
public sealed interface Request
        permits Operation,
                Request.Status,
                Request.Plan,
                Request.Apply,
                Request.Delete,
                Request.Pause,
                Request.Resume,
                Request.Events,
                Request.Logs,
                Request.Inspect {
    Verb verb();

    /** What does it in this process. Not a switch over the kinds: looking up patterns costs a tenth of a start. */
    Command on(Workspace workspace);

    /** Whether it only looks, so that whoever can read the state directory can do it as well as the agent. */
    default boolean onlyLooks() {
        return true;
    }

    /** Whether it never ends by itself. */
    default boolean goesOn() {
        return false;
    }

    /**
     * How things are.
     *
     * @param workloads none: all
     * @param watch again and again
     */
    record Status(ImmutableList<WorkloadId> workloads, boolean watch) implements Request {
        @Override
        public Verb verb() {
            return Verb.STATUS;
        }

        @Override
        public Command on(Workspace workspace) {
            return new StatusCommand(workspace, workloads, watch);
        }

        @Override
        public boolean goesOn() {
            return watch;
        }
    }

    /**
     * What would change.
     *
     * @param given nothing: against the stored desired state
     */
    record Plan(Given given, boolean detailedExitCode) implements Request {
        @Override
        public Verb verb() {
            return Verb.PLAN;
        }

        @Override
        public Command on(Workspace workspace) {
            return new PlanCommand(workspace, given, detailedExitCode);
        }
    }

    /**
     * To declare and converge.
     *
     * @param timeout how long to wait for that
     */
    record Apply(Given given, Duration timeout) implements Request {
        @Override
        public Verb verb() {
            return Verb.APPLY;
        }

        @Override
        public Command on(Workspace workspace) {
            return new ApplyCommand(workspace, given, timeout);
        }

        @Override
        public boolean onlyLooks() {
            return false;
        }
    }

    /**
     * To withdraw and remove.
     *
     * @param timeout how long to wait until they are gone
     */
    record Delete(ImmutableList<WorkloadId> workloads, Duration timeout) implements Request {
        @Override
        public Verb verb() {
            return Verb.DELETE;
        }

        @Override
        public Command on(Workspace workspace) {
            return new DeleteCommand(workspace, workloads, timeout);
        }

        @Override
        public boolean onlyLooks() {
            return false;
        }
    }

    /**
     * To leave workloads alone.
     *
     * @param reason for people; not blank
     */
    record Pause(ImmutableList<WorkloadId> workloads, String reason) implements Request {
        @Override
        public Verb verb() {
            return Verb.PAUSE;
        }

        @Override
        public Command on(Workspace workspace) {
            return new PauseCommand(workspace, workloads, reason);
        }

        @Override
        public boolean onlyLooks() {
            return false;
        }
    }

    /**
     * To enforce paused workloads again.
     *
     * @param reason for people; may be empty
     */
    record Resume(ImmutableList<WorkloadId> workloads, String reason) implements Request {
        @Override
        public Verb verb() {
            return Verb.RESUME;
        }

        @Override
        public Command on(Workspace workspace) {
            return new ResumeCommand(workspace, workloads, reason);
        }

        @Override
        public boolean onlyLooks() {
            return false;
        }
    }

    /**
     * What happened.
     *
     * @param follow goes on with what happens from now on
     */
    record Events(boolean follow) implements Request {
        @Override
        public Verb verb() {
            return Verb.EVENTS;
        }

        @Override
        public Command on(Workspace workspace) {
            return new EventsCommand(workspace, follow);
        }

        @Override
        public boolean goesOn() {
            return follow;
        }
    }

    /**
     * What a workload wrote.
     *
     * @param follow goes on with what is written from now on
     */
    record Logs(WorkloadId workload, boolean follow) implements Request {
        @Override
        public Verb verb() {
            return Verb.LOGS;
        }

        @Override
        public Command on(Workspace workspace) {
            return new LogsCommand(workspace, workload, follow);
        }

        @Override
        public boolean goesOn() {
            return follow;
        }
    }

    /** What an agent's threads are doing; only an agent has them. */
    record Inspect() implements Request {
        @Override
        public Verb verb() {
            return Verb.DIAGNOSTICS;
        }

        @Override
        public Command on(Workspace workspace) {
            return new InspectCommand(workspace);
        }
    }
}
