package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.Iterables;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.plan.Plan;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Bucket;
import io.homeostat.reconcile.plan.WorkloadPlan.Change;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A plan for programs; its form is a public interface. */
public final class PlanJson {
    /** Another one when a field changes or goes. Those that are only there when there is something to say leave it as it is. */
    public static final String FORMAT_VERSION = "1.0";

    private PlanJson() {}

    public static ObjectNode of(Plan plan, DesiredState desired) {
        ObjectNode json = Json.versioned();
        json.set("changes", changes(plan, false));
        json.set("drift", changes(plan, true));
        ObjectNode summary = json.putObject("summary")
                .put("install", plan.count(Bucket.INSTALL))
                .put("update", plan.count(Bucket.UPDATE))
                .put("repair", plan.count(Bucket.REPAIR))
                .put("remove", plan.count(Bucket.REMOVE));
        if (plan.count(Bucket.WAITING) > 0) {
            summary.put("waiting", plan.count(Bucket.WAITING));
        }
        summary.put("unchanged", plan.count(Bucket.UNCHANGED));
        putUnlessEmpty("disabled", disabled(plan), json);
        putUnlessEmpty("overruled", Json.array(SourceConflicts.contested(desired), PlanJson::overruled), json);
        return json;
    }

    private static void putUnlessEmpty(String field, ArrayNode array, ObjectNode json) {
        if (!array.isEmpty()) {
            json.set(field, array);
        }
    }

    private static ObjectNode overruled(Declaration winner) {
        ObjectNode json = Json.object()
                .put("workload", winner.id().toString())
                .put("source", winner.source().word());
        json.set("overrules", Json.texts(Iterables.transform(winner.overruled(), SourceName::word)));
        return json;
    }

    private static ArrayNode disabled(Plan plan) {
        return Json.array(
                Iterables.filter(plan.workloads(), WorkloadPlan::isDisabledAtRest),
                workload -> Json.object()
                        .put("workload", workload.workload().toString())
                        .put("reason", workload.reason().name())
                        .put("message", workload.message()));
    }

    private static ArrayNode changes(Plan plan, boolean drift) {
        return Json.array(
                Iterables.filter(
                        plan.workloads(),
                        workload -> workload.bucket() != Bucket.UNCHANGED && workload.isDrift() == drift),
                PlanJson::change);
    }

    public static ObjectNode change(WorkloadPlan plan) {
        ObjectNode json = Json.object()
                .put("workload", plan.workload().toString())
                .put("action", plan.action().word())
                .put("reason", plan.reason().name())
                .put("message", plan.message());
        json.set("steps", Json.texts(Iterables.transform(plan.steps(), Step::word)));
        json.set("before", facts(plan.before(), plan.changes(), Change::before));
        json.set("after", facts(plan.after(), plan.changes(), Change::after));
        if (plan.reasons().size() > 1) {
            json.set("reasons", Json.texts(Iterables.transform(plan.reasons(), Reason::name)));
        }
        return json;
    }

    /** What differs in the declaration is there by its path, on the side where it has a value. */
    private static @Nullable ObjectNode facts(
            @Nullable Facts facts, List<Change> changes, Function<Change, @Nullable String> side) {
        boolean hasValues = changes.stream().anyMatch(change -> side.apply(change) != null);
        if (facts == null && !hasValues) {
            return null;
        }
        ObjectNode json = Json.object();
        if (facts != null) {
            json.put("revision", facts.revision());
        }
        if (!changes.isEmpty()) {
            ObjectNode attributes = json.putObject("attributes");
            for (Change change : changes) {
                String value = side.apply(change);
                if (value != null) {
                    attributes.put(change.path(), value);
                }
            }
        }
        return json;
    }
}
