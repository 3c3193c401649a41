package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.yaml.DocumentCodec;
import io.homeostat.proto.agent.AgentGrpc;
import io.homeostat.proto.agent.ApplyRequest;
import io.homeostat.proto.agent.DeleteRequest;
import io.homeostat.proto.agent.Document;
import io.homeostat.proto.agent.EventsRequest;
import io.homeostat.proto.agent.InspectRequest;
import io.homeostat.proto.agent.LogsRequest;
import io.homeostat.proto.agent.PauseRequest;
import io.homeostat.proto.agent.PlanRequest;
import io.homeostat.proto.agent.Presentation;
import io.homeostat.proto.agent.ResumeRequest;
import io.homeostat.proto.agent.StatusRequest;
import io.homeostat.reconcile.agent.api.ApiClient;
import io.homeostat.reconcile.agent.api.ApiReader;
import io.homeostat.reconcile.command.output.OneLine;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** {@link Request}s as calls of the API, and back. What comes back was written by anybody, and is checked as if typed. */
public final class AgentCalls {
    private static final Duration LONGEST = Duration.ofDays(366);

    private AgentCalls() {}

    /** Makes the call that a request is. */
    public static int call(ApiClient client, Request request, Presentation presentation, ApiReader reader)
            throws InterruptedException {
        return switch (request) {
            case Request.Status(var workloads, boolean watch) ->
                client.call(
                        AgentGrpc.getStatusMethod(),
                        StatusRequest.newBuilder()
                                .setPresentation(presentation)
                                .addAllWorkloads(words(workloads))
                                .setWatch(watch)
                                .build(),
                        reader);
            case Request.Plan(Given given, boolean detailed) ->
                client.call(
                        AgentGrpc.getPlanMethod(),
                        PlanRequest.newBuilder()
                                .setPresentation(presentation)
                                .addAllDocuments(documents(given))
                                .addAllOrigins(given.origins())
                                .setPrune(given.prune())
                                .setDetailedExitStatus(detailed)
                                .build(),
                        reader);
            case Request.Apply(Given given, Duration timeout) ->
                client.call(
                        AgentGrpc.getApplyMethod(),
                        ApplyRequest.newBuilder()
                                .setPresentation(presentation)
                                .addAllDocuments(documents(given))
                                .addAllOrigins(given.origins())
                                .setPrune(given.prune())
                                .setTimeout(proto(timeout))
                                .build(),
                        reader);
            case Request.Delete(var workloads, Duration timeout) ->
                client.call(
                        AgentGrpc.getDeleteMethod(),
                        DeleteRequest.newBuilder()
                                .setPresentation(presentation)
                                .addAllWorkloads(words(workloads))
                                .setTimeout(proto(timeout))
                                .build(),
                        reader);
            case Request.Pause(var workloads, String reason) ->
                client.call(
                        AgentGrpc.getPauseMethod(),
                        PauseRequest.newBuilder()
                                .setPresentation(presentation)
                                .addAllWorkloads(words(workloads))
                                .setReason(reason)
                                .build(),
                        reader);
            case Request.Resume(var workloads, String reason) ->
                client.call(
                        AgentGrpc.getResumeMethod(),
                        ResumeRequest.newBuilder()
                                .setPresentation(presentation)
                                .addAllWorkloads(words(workloads))
                                .setReason(reason)
                                .build(),
                        reader);
            case Request.Events(boolean follow) ->
                client.call(
                        AgentGrpc.getEventsMethod(),
                        EventsRequest.newBuilder()
                                .setPresentation(presentation)
                                .setFollow(follow)
                                .build(),
                        reader);
            case Request.Logs(WorkloadId workload, boolean follow) ->
                client.call(
                        AgentGrpc.getLogsMethod(),
                        LogsRequest.newBuilder()
                                .setPresentation(presentation)
                                .setWorkload(workload.toString())
                                .setFollow(follow)
                                .build(),
                        reader);
            case Operation operation -> OperationCalls.call(client, operation, presentation, reader);
            case Request.Inspect() ->
                client.call(
                        AgentGrpc.getInspectMethod(),
                        InspectRequest.newBuilder()
                                .setPresentation(presentation)
                                .build(),
                        reader);
        };
    }

    /**
     * What was asked for.
     *
     * @throws UsageException as each of these, when what was asked for makes no sense */
    public static Request request(StatusRequest request) {
        return new Request.Status(workloads(request.getWorkloadsList()), request.getWatch());
    }

    public static Request request(PlanRequest request) {
        return new Request.Plan(
                given(request.getDocumentsList(), request.getOriginsList(), request.getPrune()),
                request.getDetailedExitStatus());
    }

    public static Request request(ApplyRequest request) {
        Given given = given(request.getDocumentsList(), request.getOriginsList(), request.getPrune());
        if (given.isNothing()) {
            throw new UsageException("origins: none, and at least one is needed");
        }
        return new Request.Apply(given, timeout(request.hasTimeout(), request.getTimeout()));
    }

    public static Request request(DeleteRequest request) {
        return new Request.Delete(
                some(workloads(request.getWorkloadsList())), timeout(request.hasTimeout(), request.getTimeout()));
    }

    public static Request request(PauseRequest request) {
        if (request.getReason().isBlank()) {
            throw new UsageException("reason: empty; say why, for whoever finds it paused");
        }
        return new Request.Pause(some(workloads(request.getWorkloadsList())), request.getReason());
    }

    public static Request request(ResumeRequest request) {
        return new Request.Resume(some(workloads(request.getWorkloadsList())), request.getReason());
    }

    public static Request request(EventsRequest request) {
        return new Request.Events(request.getFollow());
    }

    public static Request request(LogsRequest request) {
        return new Request.Logs(workload(request.getWorkload()), request.getFollow());
    }

    static ImmutableList<String> words(ImmutableList<WorkloadId> workloads) {
        return workloads.stream().map(WorkloadId::toString).collect(ImmutableList.toImmutableList());
    }

    static ImmutableList<WorkloadId> workloads(List<String> words) {
        return words.stream().map(AgentCalls::workload).collect(ImmutableList.toImmutableList());
    }

    /** @throws UsageException when it names none */
    static WorkloadId workload(String word) {
        return WorkloadId.parse(word)
                .orElseThrow(() -> new UsageException(
                        "'" + OneLine.of(word) + "' names no workload; write KIND/NAME, such as plugin/ops-agent"));
    }

    static ImmutableList<WorkloadId> some(ImmutableList<WorkloadId> workloads) {
        if (workloads.isEmpty()) {
            throw new UsageException("workloads: none, and at least one is needed");
        }
        return workloads;
    }

    private static ImmutableList<Document> documents(Given given) {
        return given.documents().stream()
                .map(document -> Document.newBuilder()
                        .setJson(document.document().text())
                        .setOrigin(document.origin())
                        .build())
                .collect(ImmutableList.toImmutableList());
    }

    private static Given given(List<Document> documents, List<String> origins, boolean prune) {
        ImmutableSet<String> paths = origins.stream().map(AgentCalls::origin).collect(ImmutableSet.toImmutableSet());
        if (prune && (paths.isEmpty() || paths.contains(Inputs.STANDARD_INPUT))) {
            throw new UsageException(
                    "prune: goes by the origins, and needs absolute paths among them and nothing else");
        }
        Set<WorkloadId> seen = new HashSet<>();
        ImmutableList.Builder<ToApply> result = ImmutableList.builder();
        for (int i = 0; i < documents.size(); i++) {
            ToApply document = document("documents[" + i + "]: ", documents.get(i), paths);
            WorkloadId id = document.workload().id();
            if (!seen.add(id)) {
                throw new UsageException("documents[" + i + "]: " + id + " is declared twice");
            }
            result.add(document);
        }
        return new Given(result.build(), paths, prune);
    }

    private static ToApply document(String where, Document document, ImmutableSet<String> origins) {
        if (!origins.contains(document.getOrigin())) {
            throw new UsageException(where + "its origin is none of the origins");
        }
        try {
            return new ToApply(DocumentCodec.fromJson(document.getJson()), document.getOrigin());
        } catch (IllegalArgumentException e) {
            // The message was written for people and quotes no secret.
            throw new UsageException(where + e.getMessage());
        }
    }

    private static String origin(String origin) {
        try {
            if (origin.equals(Inputs.STANDARD_INPUT)
                    || (origin.startsWith("/")
                            && Path.of(origin).normalize().toString().equals(origin))) {
                return origin;
            }
        } catch (InvalidPathException e) {
            throw new UsageException("origins: one is no path");
        }
        throw new UsageException("origins: '" + OneLine.of(origin) + "' is neither an absolute path nor -");
    }

    static com.google.protobuf.Duration proto(Duration duration) {
        Duration bounded = duration.compareTo(LONGEST) > 0 ? LONGEST : duration;
        return com.google.protobuf.Duration.newBuilder()
                .setSeconds(bounded.getSeconds())
                .setNanos(bounded.getNano())
                .build();
    }

    static Duration timeout(boolean given, com.google.protobuf.Duration timeout) {
        if (!given) {
            return ApplyCommand.DEFAULT_TIMEOUT;
        }
        boolean sensible = timeout.getSeconds() >= 0
                && timeout.getSeconds() <= LONGEST.toSeconds()
                && timeout.getNanos() >= 0
                && timeout.getNanos() < 1_000_000_000
                && timeout.getSeconds() + timeout.getNanos() > 0;
        if (!sensible) {
            throw new UsageException("timeout: not between nothing and " + LONGEST.toDays() + " days");
        }
        return Duration.ofSeconds(timeout.getSeconds(), timeout.getNanos());
    }
}
