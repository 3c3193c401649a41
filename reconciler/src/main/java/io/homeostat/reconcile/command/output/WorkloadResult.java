package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Bucket;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * What became of a workload.
 *
 * @param plan what was to be done; if it was not done, what was left to do at the end
 * @param why it was not done; empty when it was
 */
public record WorkloadResult(WorkloadId workload, Kind kind, WorkloadPlan plan, String why) {
    enum Kind {
        CONVERGED,
        UNCHANGED,
        REMOVED,
        FAILED,
        /** Nothing is wrong with it, but it may not be changed before its maintenance window opens, nor removed while it is paused. */
        WAITING;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Whether it is not as declared. */
    public boolean isLeftUndone() {
        return kind == Kind.FAILED || kind == Kind.WAITING;
    }

    /** Whether this is told when the other one has been, whatever the words for it. */
    boolean isSameEnd(WorkloadResult other) {
        return kind == other.kind
                && plan.action() == other.plan.action()
                && plan.reason() == other.plan.reason()
                && Objects.equals(plan.before(), other.plan.before())
                && Objects.equals(plan.after(), other.plan.after());
    }

    /** The group of the summary that it counts to, if it is as declared. */
    Bucket bucket() {
        return switch (kind) {
            case UNCHANGED -> Bucket.UNCHANGED;
            case REMOVED -> Bucket.REMOVE;
            case CONVERGED, FAILED, WAITING ->
                plan.bucket() == Bucket.REPAIR || plan.bucket() == Bucket.INSTALL ? plan.bucket() : Bucket.UPDATE;
        };
    }

    /** For people: "upgraded A -> B", "failed: ...", "waiting: ...". */
    String words() {
        return isLeftUndone() ? kind.word() + ": " + Text.oneLine(why) : PlanText.done(plan);
    }

    /** The revision that is there, or for a removal was; empty when none is known. */
    String revision() {
        Facts facts = kind == Kind.REMOVED ? plan.before() : plan.after();
        return facts == null ? "" : facts.revision();
    }

    /** "Apply: 1 installed, 0 updated, 0 repaired, 0 removed, 12 unchanged." */
    public static String summary(String word, List<WorkloadResult> results) {
        long failed = count(results, Kind.FAILED);
        long waiting = count(results, Kind.WAITING);
        return word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1) + ": "
                + count(results, Bucket.INSTALL) + " installed, "
                + count(results, Bucket.UPDATE) + " updated, "
                + count(results, Bucket.REPAIR) + " repaired, "
                + count(results, Bucket.REMOVE) + " removed, "
                + (failed > 0 ? failed + " failed, " : "")
                + (waiting > 0 ? waiting + " waiting, " : "")
                + count(results, Bucket.UNCHANGED) + " unchanged.";
    }

    public static ObjectNode json(List<WorkloadResult> results) {
        ObjectNode json = Json.versioned();
        json.set("workloads", Json.array(results, WorkloadResult::json));
        json.putObject("summary")
                .put("installed", count(results, Bucket.INSTALL))
                .put("updated", count(results, Bucket.UPDATE))
                .put("repaired", count(results, Bucket.REPAIR))
                .put("removed", count(results, Bucket.REMOVE))
                .put("failed", count(results, Kind.FAILED))
                .put("unchanged", count(results, Bucket.UNCHANGED))
                .put("waiting", count(results, Kind.WAITING));
        return json;
    }

    private ObjectNode json() {
        return Json.object()
                .put("workload", workload.toString())
                .put("result", kind.word())
                .put("action", plan.action().word())
                .put("reason", plan.reason().name())
                .put("message", why.isEmpty() ? plan.message() : why)
                .put("revision", revision());
    }

    private static long count(List<WorkloadResult> results, Kind kind) {
        return results.stream().filter(result -> result.kind() == kind).count();
    }

    private static long count(List<WorkloadResult> results, Bucket bucket) {
        return results.stream()
                .filter(result -> !result.isLeftUndone() && result.bucket() == bucket)
                .count();
    }
}
