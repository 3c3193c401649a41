package io.homeostat.reconcile.sim;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What must hold in every simulated history, each with the promise that it stands for. */
enum Invariant {
    NEVER_TWO("SPEC.md 3.4: never two revisions of one workload at once"),
    NEVER_A_FOREIGN_PROCESS("SPEC.md 3.4: never a signal to a process that is not ours"),
    NOTHING_BEFORE_START("plugin contract: neither GetStatus nor Apply before Start"),
    START_AT_MOST_ONCE("plugin contract: a process gets one Start, some don't survive a second"),
    NOTHING_HALF_WRITTEN("SPEC.md 3.6: nothing half-written is ever used"),
    DURABLE_BEFORE_RELIED_ON(
            "SPEC.md 3.6: state is durable before it is acknowledged, and before the last good one is given up"),
    NOTHING_DAMAGED_IS_LAUNCHED("SPEC.md 3.6: what is seen to be damaged is not launched"),
    NOTHING_PULLED_AWAY("SPEC.md 3.6: what a process runs from stays while it runs"),
    LAST_GOOD_KEPT("SPEC.md 3.5: a revision is never given up before its successor has proved itself"),
    PROVEN_HAS_WORKED("SPEC.md 3.5: a successor has proved itself only when it has really worked"),
    ROLLBACK_IS_SHOWN("SPEC.md 3.5: a failed upgrade shows the condition RolledBack"),
    BLIND_DOES_NOTHING("SPEC.md 3.1: every pass starts from what is observed, never from what was assumed"),
    NOTHING_ALIVE_IS_FORGOTTEN("SPEC.md 3.10: workloads outlive the agent and are adopted again"),
    NOTHING_IS_LEFT_OF_WHAT_ENDED(
            "KindTraits.leavesRemains: what an instance leaves is removed, whoever dies in between"),
    UNCLAIMED_IS_LEFT_ALONE("ARCHITECTURE.md, state on disk: when a database is lost, nothing is killed"),
    THE_PAUSED_ARE_LEFT_ALONE("SPEC.md 2: pause stops the enforcement of one workload"),
    THE_WELL_ARE_LEFT_ALONE("SPEC.md 3.12: nothing harms a workload that is well and as declared"),
    ONLY_THE_WANTED_IS_LAUNCHED("SPEC.md 1: what is declared runs, or the last good revision in its place"),
    DEPENDENCIES_COME_FIRST("issue 5: dependsOn, started after"),
    PARTS_GO_WITH_THEIR_PARENT(
            "ARCHITECTURE.md, traits: a part is launched in its parent's instance, and again in another one"),
    PARTS_GO_FIRST("issue 13: stop (signal, then SIGKILL of all): a part is told to end before its parent is stopped"),
    DEPENDANTS_GO_FIRST("issue 5: dependsOn, stopped before"),
    NEVER_MORE_DOWN_THAN_ALLOWED("issue 5: maxDisruption, how many workloads of a label may be restarted at once"),
    CHANGED_ONLY_IN_ITS_WINDOW("issue 5: maintenanceWindow, for upgrades and config changes"),
    REPAIRS_WAIT_FOR_NOBODY("issue 5: maintenanceWindow and maxDisruption, repairs are always allowed"),
    THE_UNKNOWN_CHANGES_NOTHING("issue 5: rules, unknown never disables or enables anything that runs"),
    STRONGEST_SOURCE_WINS("SPEC.md 1: controlPlane > applied > files > local"),
    GENERATION_IS_SAID("SPEC.md 2: observedGeneration is the generation that was last acted on"),
    WHAT_IS_ASKED_FOR_STAYS("SPEC.md 3.1: a change that arrives in the middle of another is never lost"),
    ONLY_FETCHING_IS_BROKEN_OFF("reconciler/README.md, the loop: steps on processes are never broken off"),
    NO_PASS_BREAKS("SPEC.md 3.2: any step may be repeated, interrupted or run after a reboot"),
    NO_RUNNING_IN_CIRCLES("SPEC.md 3.9: failures are followed by pauses"),
    RESTARTS_ARE_PACED("SPEC.md 3.9: exponential backoff with a cap"),
    RESTARTS_AT_ONCE("SPEC.md 3.9: restart at once after a crash"),
    GIVES_UP_ONLY_WHEN_TOLD("SPEC.md 3.9: giveUpAfter 0 means never; giving up is shown"),
    CONVERGES("ARCHITECTURE.md, the planner: it converges when faults stop"),
    CONVERGED_IS_SAID("SPEC.md 2: the condition Converged says whether it has"),
    PLAN_OF_CONVERGED_IS_EMPTY("ARCHITECTURE.md, the planner: the plan of a converged machine is empty"),
    A_TRIGGER_RUNS_ONCE("issue 5: a one-shot runs once for a boot, an instance, an interval"),
    A_DUE_RUN_IS_NOT_LOST("SPEC.md 3.1: what is due is done, whatever came in between"),
    A_RUN_IS_TOLD_ONCE("issue 5: EXECUTION_COMPLETED or EXECUTION_FAILED, once a run"),
    COMPLETED_BY_ITSELF("issue 11: restart.policy, only a clean end of its own completes a workload"),
    THE_COMPLETED_REST("issue 11: restart.policy, what has completed is not launched again until somebody asks"),
    RUNS_COME_TO_THEIR_END(
            "reconciler/README.md, one-shots: a run under way is stopped only when it is not wanted or takes too long"),
    EVENTS_SAY_SOMETHING("issue 11: no event has an empty text"),
    DRY_RUN_TOUCHES_NOTHING("SPEC.md 3.3: a dry run changes nothing: no file, no process, no event"),
    DRY_RUN_FORETELLS("SPEC.md 3.3: a dry run is the same computation as the real run");

    private final String promise;

    Invariant(String promise) {
        this.promise = promise;
    }

    String promise() {
        return promise;
    }

    /** @param otherwise what happened instead; asked for only when it did */
    void require(boolean holds, Supplier<String> otherwise) {
        if (!holds) {
            throw new Violation(this, otherwise.get());
        }
    }

    /** An invariant did not hold. */
    static final class Violation extends AssertionError {
        private static final long serialVersionUID = 1L;

        private final Invariant invariant;

        Violation(Invariant invariant, String what) {
            this(invariant, what, null);
        }

        Violation(Invariant invariant, String what, @Nullable Throwable cause) {
            super(invariant + " (" + invariant.promise() + "): " + what, cause);
            this.invariant = invariant;
        }

        Invariant invariant() {
            return invariant;
        }
    }
}
