package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.Iterables;
import io.homeostat.desired.channel.ChannelStatus;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.command.environment.AgentIdentity;
import io.homeostat.reconcile.controlplane.ControlPlane.ControlPlaneStatus;
import io.homeostat.reconcile.status.WorkloadState;
import io.homeostat.reconcile.status.WorkloadStatus;
import io.homeostat.reconcile.status.WorkloadStatus.LastRun;
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

    public static ObjectNode of(
            Optional<AgentIdentity> agent,
            Optional<ControlPlaneStatus> controlPlane,
            Instant now,
            List<WorkloadStatus> workloads,
            List<SourceProblem> problems,
            List<StoredSet.Standing> sets,
            List<String> agentProblems) {
        ObjectNode json = Json.versioned();
        if (agent.isPresent()) {
            ObjectNode one = json.putObject("agent");
            ArrayNode its = one.putArray("problems");
            agentProblems.forEach(its::add);
            one.put("version", agent.get().version())
                    .put("pid", agent.get().pid())
                    .put("uptimeSeconds", agent.get().uptime(now).toSeconds())
                    .set(
                            "controlPlane",
                            controlPlane.map(StatusJson::controlPlane).orElse(null));
        } else {
            json.putNull("agent");
        }
        json.set("workloads", Json.array(workloads, StatusJson::workload));
        json.set(
                "problems",
                Json.array(
                        problems,
                        problem -> Json.object()
                                .put("source", problem.source().word())
                                .put("origin", problem.origin())
                                .put("message", problem.message())));
        if (!sets.isEmpty()) {
            json.set("sets", Json.array(sets, set -> set(set, problems)));
        }
        return json;
    }

    private static ObjectNode set(StoredSet.Standing standing, List<SourceProblem> problems) {
        Optional<StoredSet> set = standing.set();
        return Json.object()
                .put("source", standing.source().word())
                .put("name", standing.name())
                .put("version", set.map(StoredSet::version).orElse(null))
                .put("sequence", set.map(StoredSet::sequence).orElse(0L))
                .put("publishedAt", text(set.flatMap(StoredSet::publishedAt).orElse(null)))
                .put("takenAt", text(set.map(StoredSet::takenAt).orElse(null)))
                .put("answeredAt", text(standing.answeredAt().orElse(null)))
                .put(
                        "lastFailure",
                        problems.stream()
                                .filter(problem -> problem.source() == standing.source())
                                .map(SourceProblem::message)
                                .findFirst()
                                .orElse(null));
    }

    private static ObjectNode controlPlane(ControlPlaneStatus controlPlane) {
        ChannelStatus channel = controlPlane.channel();
        return Json.object()
                .put("endpoint", channel.endpoint())
                .put("connectedSince", text(channel.connectedSince()))
                .put("lastMessage", text(channel.lastMessage()))
                .put("unacknowledged", channel.unacknowledged())
                .put("queuedEvents", controlPlane.queuedEvents())
                .put("droppedEvents", controlPlane.droppedEvents())
                .put("refusedEvents", controlPlane.refusedEvents())
                .put("lastError", channel.lastError())
                .put("withheldRefusals", controlPlane.withheldRefusals());
    }

    public static ObjectNode workload(WorkloadStatus workload) {
        SourceName source = workload.source();
        ObjectNode json = Json.object()
                .put("kind", workload.id().kind().title())
                .put("name", workload.id().name())
                .put("source", source == null ? null : source.word());
        if (!workload.overruled().isEmpty()) {
            json.set("overruled", Json.texts(Iterables.transform(workload.overruled(), SourceName::word)));
        }
        json.put("generation", workload.generation())
                .put("observedGeneration", workload.observedGeneration())
                .put("state", workload.state().name())
                .put("desiredRevision", workload.desiredRevision())
                .put("currentRevision", workload.currentRevision())
                .put("pendingRevision", workload.pendingRevision());
        if (workload.pendingRevision() != null && !workload.failure().isEmpty()) {
            json.put("pendingStatus", WorkloadState.INSTALL_FAILED.name()).put("pendingError", workload.failure());
        }
        json.put("pid", workload.pid())
                .put("startedAt", text(workload.startedAt()))
                .put("restarts", workload.restarts());
        Identity identity = workload.identity();
        if (identity != null && workload.pid() == null) {
            json.put("instance", identity.words());
        }
        json.set("lastExit", exit(workload.lastExit()));
        json.set("health", health(workload.health()));
        json.put("configHash", workload.configHash());
        json.set("metrics", usage(workload.usage()));
        json.set(
                "conditions",
                Json.array(
                        workload.conditions(),
                        condition -> Json.object()
                                .put("type", condition.type().word())
                                .put("status", condition.status().word())
                                .put("reason", condition.reason().word())
                                .put("message", condition.message())
                                .put(
                                        "lastTransitionTime",
                                        condition.lastTransitionTime().toString())));
        LastRun execution = workload.execution();
        if (execution != null) {
            ObjectNode run = json.putObject("execution");
            run.set("lastRun", lastRun(execution.run()));
            run.put("nextDue", millis(execution.nextDue()));
        }
        return json;
    }

    private static @Nullable ObjectNode exit(@Nullable Exit exit) {
        return exit == null
                ? null
                : Json.object()
                        .put("code", exit.code())
                        .put("signal", exit.signal())
                        .put("reason", exit.reason().name())
                        // Every other time comes from a clock that ticks milliseconds; this one from a file.
                        .put("at", millis(exit.at()));
    }

    private static @Nullable ObjectNode health(@Nullable Health health) {
        if (health == null) {
            return null;
        }
        boolean answered = health.verdict() == Health.Verdict.HEALTHY;
        ObjectNode json = Json.object().put("code", answered ? health.code() : NO_ANSWER);
        json.set("results", Json.texts(answered ? health.results() : List.of(health.problem())));
        return json.put("checkedAt", health.checkedAt().toString());
    }

    private static @Nullable ObjectNode usage(@Nullable Usage usage) {
        return usage == null
                ? null
                : Json.object()
                        .put(
                                "cpuPercent",
                                BigDecimal.valueOf(usage.cpuPercent()).setScale(1, RoundingMode.HALF_UP))
                        .put("memoryBytes", usage.memoryBytes());
    }

    private static @Nullable ObjectNode lastRun(@Nullable OneShotRun run) {
        if (run == null) {
            return null;
        }
        Duration took = run.duration();
        ObjectNode json = Json.object()
                .put("result", run.result().name())
                .put("startedAt", millis(run.startedAt()))
                .put("endedAt", millis(run.endedAt()))
                .put("durationSeconds", took == null ? null : (Double) (took.toMillis() / MILLIS_A_SECOND));
        json.set("exit", exit(run.exit()));
        return json.put("error", run.error());
    }

    private static @Nullable String text(@Nullable Instant time) {
        return time == null ? null : time.toString();
    }

    private static @Nullable String millis(@Nullable Instant time) {
        return time == null ? null : text(time.truncatedTo(ChronoUnit.MILLIS));
    }
}
