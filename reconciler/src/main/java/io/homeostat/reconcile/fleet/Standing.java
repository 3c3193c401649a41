package io.homeostat.reconcile.fleet;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.fleet.MachineReport.ReportedWorkload;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.RolloutSpec.Need;
import io.homeostat.desired.model.schema.Notation;

/**
 * How a machine fares with a rollout.
 *
 * @param why for people; empty when there is nothing to say
 */
public record Standing(Kind kind, String why) {
    private static final Standing DONE = new Standing(Kind.DONE, "");
    private static final Standing SILENT = new Standing(Kind.SILENT, "nothing is heard of it");

    static final Standing NOT_ITS_TURN = new Standing(Kind.NOT_ITS_TURN, "");

    /** In a word. */
    public enum Kind {
        /** Its wave is not open. */
        NOT_ITS_TURN,
        /** Has the new revision, and is well. */
        DONE,
        /** May still become well. */
        WAITING,
        /** Nothing is known of it: it may be well or not. */
        SILENT,
        /** Was not well in time, or never will be. */
        FAILED
    }

    boolean isOpen() {
        return kind == Kind.WAITING || kind == Kind.SILENT;
    }

    /** Of a machine whose turn it is. What is not well yet counts as failed when its time is over. */
    static Standing of(RolloutSituation.Member member, RolloutSpec spec, boolean isOverdue) {
        ImmutableList<ReportedWorkload> workloads = member.workloads();
        Standing worst = workloads == null ? SILENT : DONE;
        if (workloads != null) {
            for (String id : spec.workloads()) {
                Standing one = workloads.stream()
                        .filter(workload -> workload.id().equals(id))
                        .findFirst()
                        .map(workload -> of(workload, spec))
                        .orElseGet(() -> waiting(id + " is not there"));
                worst = one.kind.compareTo(worst.kind) > 0 ? one : worst;
            }
        }
        return isOverdue && worst.isOpen()
                ? new Standing(Kind.FAILED, worst.why + ", " + Notation.text(spec.timeout()) + " after its wave opened")
                : worst;
    }

    private static Standing of(ReportedWorkload workload, RolloutSpec spec) {
        String id = workload.id();
        if (!workload.desired().equals(spec.to())) {
            // What it says of the new revision is from an earlier time.
            return waiting(id + " is to be at " + (workload.desired().isEmpty() ? "none" : workload.desired()));
        }
        boolean isThere = workload.revision().equals(spec.to());
        if (workload.failed().equals(spec.to())) {
            return failed(id + " failed", workload);
        } else if (workload.givenUp()) {
            return failed(id + " was given up", workload);
        } else if (isThere && workload.restarts() > 0 && spec.health().contains(Need.NO_RESTARTS)) {
            return failed(id + " was restarted", workload);
        } else if (!isThere) {
            return waiting(id + (workload.paused() ? " is paused" : " is not there yet"));
        } else if (!workload.healthy() && spec.health().contains(Need.HEALTHY)) {
            return waiting(id + " is not healthy");
        } else if (!workload.converged() && spec.health().contains(Need.CONVERGED)) {
            return waiting(id + " has not converged");
        }
        return DONE;
    }

    private static Standing waiting(String why) {
        return new Standing(Kind.WAITING, why);
    }

    private static Standing failed(String what, ReportedWorkload workload) {
        return new Standing(Kind.FAILED, workload.failure().isEmpty() ? what : what + ": " + workload.failure());
    }
}
