package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.core.JsonGenerator;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Bucket;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * What became of a workload.
 *
 * @param plan what was to be done about it; when that was not done, what was left to do at the end
 * @param why why it was not done; empty when it was
 */
public record WorkloadResult(WorkloadId workload, Kind kind, WorkloadPlan plan, String why) {
    /** The five ends. */
    enum Kind {
        CONVERGED,
        UNCHANGED,
        REMOVED,
        FAILED,
        /** Nothing is wrong with it, but it may not be changed before its maintenance window opens. */
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

    public static void write(List<WorkloadResult> results, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("formatVersion", PlanJson.FORMAT_VERSION);
        json.writeArrayFieldStart("workloads");
        for (WorkloadResult result : results) {
            json.writeStartObject();
            json.writeStringField("workload", result.workload().toString());
            json.writeStringField("result", result.kind().word());
            json.writeStringField("action", result.plan().action().word());
            json.writeStringField("reason", result.plan().reason().name());
            json.writeStringField(
                    "message", result.why().isEmpty() ? result.plan().message() : result.why());
            json.writeStringField("revision", result.revision());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeObjectFieldStart("summary");
        json.writeNumberField("installed", count(results, Bucket.INSTALL));
        json.writeNumberField("updated", count(results, Bucket.UPDATE));
        json.writeNumberField("repaired", count(results, Bucket.REPAIR));
        json.writeNumberField("removed", count(results, Bucket.REMOVE));
        json.writeNumberField("failed", count(results, Kind.FAILED));
        json.writeNumberField("unchanged", count(results, Bucket.UNCHANGED));
        json.writeNumberField("waiting", count(results, Kind.WAITING));
        json.writeEndObject();
        json.writeEndObject();
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
