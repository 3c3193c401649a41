package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.core.JsonGenerator;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.SourceName;
import io.homeostat.reconcile.plan.Plan;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Bucket;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A plan for programs; its form is a public interface. */
public final class PlanJson {
    /** Another one when a field changes or goes. Those that are only there when there is something to say leave it as it is. */
    public static final String FORMAT_VERSION = "1.0";

    private PlanJson() {}

    public static void write(Plan plan, DesiredState desired, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("formatVersion", FORMAT_VERSION);
        writeChanges("changes", plan, false, json);
        writeChanges("drift", plan, true, json);
        json.writeObjectFieldStart("summary");
        json.writeNumberField("install", plan.count(Bucket.INSTALL));
        json.writeNumberField("update", plan.count(Bucket.UPDATE));
        json.writeNumberField("repair", plan.count(Bucket.REPAIR));
        json.writeNumberField("remove", plan.count(Bucket.REMOVE));
        if (plan.count(Bucket.WAITING) > 0) {
            json.writeNumberField("waiting", plan.count(Bucket.WAITING));
        }
        json.writeNumberField("unchanged", plan.count(Bucket.UNCHANGED));
        json.writeEndObject();
        writeDisabled(plan, json);
        writeOverruled(desired, json);
        json.writeEndObject();
    }

    /** Which source has its way where several declare a workload. */
    private static void writeOverruled(DesiredState desired, JsonGenerator json) throws IOException {
        ImmutableList<Declaration> contested = SourceConflicts.contested(desired);
        if (contested.isEmpty()) {
            return;
        }
        json.writeArrayFieldStart("overruled");
        for (Declaration winner : contested) {
            json.writeStartObject();
            json.writeStringField("workload", winner.id().toString());
            json.writeStringField("source", winner.source().word());
            json.writeArrayFieldStart("overrules");
            for (SourceName weaker : winner.overruled()) {
                json.writeString(weaker.word());
            }
            json.writeEndArray();
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void writeDisabled(Plan plan, JsonGenerator json) throws IOException {
        if (plan.workloads().stream().noneMatch(WorkloadPlan::isDisabledAtRest)) {
            return;
        }
        json.writeArrayFieldStart("disabled");
        for (WorkloadPlan workload : plan.workloads()) {
            if (workload.isDisabledAtRest()) {
                json.writeStartObject();
                json.writeStringField("workload", workload.workload().toString());
                json.writeStringField("reason", workload.reason().name());
                json.writeStringField("message", workload.message());
                json.writeEndObject();
            }
        }
        json.writeEndArray();
    }

    private static void writeChanges(String field, Plan plan, boolean drift, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart(field);
        for (WorkloadPlan workload : plan.workloads()) {
            if (workload.bucket() != Bucket.UNCHANGED && workload.reason().isDrift() == drift) {
                write(workload, json);
            }
        }
        json.writeEndArray();
    }

    private static void write(WorkloadPlan plan, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("workload", plan.workload().toString());
        json.writeStringField("action", plan.action().word());
        json.writeStringField("reason", plan.reason().name());
        json.writeStringField("message", plan.message());
        json.writeArrayFieldStart("steps");
        for (Step step : plan.steps()) {
            json.writeString(step.word());
        }
        json.writeEndArray();
        write("before", plan.before(), json);
        write("after", plan.after(), json);
        json.writeEndObject();
    }

    private static void write(String field, @Nullable Facts facts, JsonGenerator json) throws IOException {
        json.writeFieldName(field);
        if (facts == null) {
            json.writeNull();
        } else {
            json.writeStartObject();
            json.writeStringField("revision", facts.revision());
            json.writeEndObject();
        }
    }
}
