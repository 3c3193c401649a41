package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.core.JsonGenerator;
import io.homeostat.desired.channel.ChannelStatus;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.command.environment.AgentIdentity;
import io.homeostat.reconcile.controlplane.ControlPlaneStatus;
import io.homeostat.reconcile.status.WorkloadState;
import io.homeostat.reconcile.status.WorkloadStatus;
import io.homeostat.reconcile.status.WorkloadStatus.LastRun;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Status for programs; its form is a public interface. */
public final class StatusJson {
    /** What stands for a health check that brought no answer, which has no code of its own. */
    private static final int NO_ANSWER = 1;

    private static final double MILLIS_A_SECOND = 1000;

    private StatusJson() {}

    public static void write(
            Optional<AgentIdentity> agent,
            Optional<ControlPlaneStatus> controlPlane,
            Instant now,
            List<WorkloadStatus> workloads,
            List<SourceProblem> problems,
            JsonGenerator json)
            throws IOException {
        json.writeStartObject();
        if (agent.isPresent()) {
            json.writeObjectFieldStart("agent");
            json.writeStringField("version", agent.get().version());
            json.writeNumberField("pid", agent.get().pid());
            json.writeNumberField("uptimeSeconds", agent.get().uptime(now).toSeconds());
            controlPlane(controlPlane, json);
            json.writeEndObject();
        } else {
            json.writeNullField("agent");
        }
        json.writeArrayFieldStart("workloads");
        for (WorkloadStatus workload : workloads) {
            write(workload, json);
        }
        json.writeEndArray();
        json.writeArrayFieldStart("problems");
        for (SourceProblem problem : problems) {
            json.writeStartObject();
            json.writeStringField("source", problem.source().word());
            json.writeStringField("origin", problem.origin());
            json.writeStringField("message", problem.message());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private static void controlPlane(Optional<ControlPlaneStatus> controlPlane, JsonGenerator json) throws IOException {
        if (controlPlane.isEmpty()) {
            json.writeNullField("controlPlane");
            return;
        }
        ChannelStatus channel = controlPlane.get().channel();
        json.writeObjectFieldStart("controlPlane");
        json.writeStringField("endpoint", channel.endpoint());
        time("connectedSince", channel.connectedSince(), json);
        time("lastMessage", channel.lastMessage(), json);
        json.writeNumberField("unacknowledged", channel.unacknowledged());
        json.writeNumberField("queuedEvents", controlPlane.get().queuedEvents());
        json.writeNumberField("droppedEvents", controlPlane.get().droppedEvents());
        json.writeNumberField("refusedEvents", controlPlane.get().refusedEvents());
        json.writeStringField("lastError", channel.lastError());
        json.writeNumberField("withheldRefusals", controlPlane.get().withheldRefusals());
        json.writeEndObject();
    }

    private static void time(String field, @Nullable Instant time, JsonGenerator json) throws IOException {
        text(field, time == null ? null : time.toString(), json);
    }

    private static void write(WorkloadStatus workload, JsonGenerator json) throws IOException {
        SourceName source = workload.source();
        json.writeStartObject();
        json.writeStringField("kind", workload.id().kind().title());
        json.writeStringField("name", workload.id().name());
        text("source", source == null ? null : source.word(), json);
        if (!workload.overruled().isEmpty()) {
            json.writeArrayFieldStart("overruled");
            for (SourceName loser : workload.overruled()) {
                json.writeString(loser.word());
            }
            json.writeEndArray();
        }
        json.writeNumberField("generation", workload.generation());
        json.writeNumberField("observedGeneration", workload.observedGeneration());
        json.writeStringField("state", workload.state().name());
        text("desiredRevision", workload.desiredRevision(), json);
        text("currentRevision", workload.currentRevision(), json);
        text("pendingRevision", workload.pendingRevision(), json);
        if (workload.pendingRevision() != null && !workload.failure().isEmpty()) {
            json.writeStringField("pendingStatus", WorkloadState.INSTALL_FAILED.name());
            json.writeStringField("pendingError", workload.failure());
        }
        Long pid = workload.pid();
        json.writeFieldName("pid");
        if (pid == null) {
            json.writeNull();
        } else {
            json.writeNumber(pid);
        }
        text("startedAt", workload.startedAt() == null ? null : String.valueOf(workload.startedAt()), json);
        json.writeNumberField("restarts", workload.restarts());
        lastExit(workload.lastExit(), json);
        health(workload.health(), json);
        json.writeStringField("configHash", workload.configHash());
        usage(workload.usage(), json);
        json.writeArrayFieldStart("conditions");
        for (Condition condition : workload.conditions()) {
            write(condition, json);
        }
        json.writeEndArray();
        LastRun execution = workload.execution();
        if (execution != null) {
            execution(execution, json);
        }
        json.writeEndObject();
    }

    private static void lastExit(@Nullable Exit exit, JsonGenerator json) throws IOException {
        exit("lastExit", exit, json);
    }

    static void exit(String field, @Nullable Exit exit, JsonGenerator json) throws IOException {
        if (exit == null) {
            json.writeNullField(field);
            return;
        }
        json.writeObjectFieldStart(field);
        number("code", exit.code(), json);
        number("signal", exit.signal(), json);
        json.writeStringField("reason", exit.reason().name());
        // Every other time is a clock's that ticks milliseconds; this one is a file's.
        json.writeStringField("at", exit.at().truncatedTo(ChronoUnit.MILLIS).toString());
        json.writeEndObject();
    }

    private static void health(@Nullable Health health, JsonGenerator json) throws IOException {
        if (health == null) {
            json.writeNullField("health");
            return;
        }
        boolean answered = health.verdict() == Health.Verdict.HEALTHY;
        json.writeObjectFieldStart("health");
        json.writeNumberField("code", answered ? health.code() : NO_ANSWER);
        json.writeArrayFieldStart("results");
        for (String result : answered ? health.results() : List.of(health.problem())) {
            json.writeString(result);
        }
        json.writeEndArray();
        json.writeStringField("checkedAt", health.checkedAt().toString());
        json.writeEndObject();
    }

    private static void usage(@Nullable Usage usage, JsonGenerator json) throws IOException {
        if (usage == null) {
            json.writeNullField("metrics");
            return;
        }
        json.writeObjectFieldStart("metrics");
        json.writeNumberField(
                "cpuPercent", BigDecimal.valueOf(usage.cpuPercent()).setScale(1, RoundingMode.HALF_UP));
        json.writeNumberField("memoryBytes", usage.memoryBytes());
        json.writeEndObject();
    }

    private static void write(Condition condition, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("type", condition.type().word());
        json.writeStringField("status", condition.status().word());
        json.writeStringField("reason", condition.reason().word());
        json.writeStringField("message", condition.message());
        json.writeStringField(
                "lastTransitionTime", condition.lastTransitionTime().toString());
        json.writeEndObject();
    }

    static void text(String field, @Nullable String value, JsonGenerator json) throws IOException {
        if (value == null) {
            json.writeNullField(field);
        } else {
            json.writeStringField(field, value);
        }
    }

    private static void number(String field, @Nullable Integer value, JsonGenerator json) throws IOException {
        if (value == null) {
            json.writeNullField(field);
        } else {
            json.writeNumberField(field, value);
        }
    }

    private static void execution(LastRun execution, JsonGenerator json) throws IOException {
        json.writeObjectFieldStart("execution");
        lastRun(execution.run(), json);
        millis("nextDue", execution.nextDue(), json);
        json.writeEndObject();
    }

    private static void lastRun(@Nullable OneShotRun run, JsonGenerator json) throws IOException {
        if (run == null) {
            json.writeNullField("lastRun");
            return;
        }
        json.writeObjectFieldStart("lastRun");
        json.writeStringField("result", run.result().name());
        millis("startedAt", run.startedAt(), json);
        millis("endedAt", run.endedAt(), json);
        Duration took = run.duration();
        if (took == null) {
            json.writeNullField("durationSeconds");
        } else {
            json.writeNumberField("durationSeconds", took.toMillis() / MILLIS_A_SECOND);
        }
        exit("exit", run.exit(), json);
        json.writeStringField("error", run.error());
        json.writeEndObject();
    }

    private static void millis(String field, @Nullable Instant time, JsonGenerator json) throws IOException {
        text(field, time == null ? null : time.truncatedTo(ChronoUnit.MILLIS).toString(), json);
    }
}
