package io.homeostat.reconcile.command;

import io.homeostat.proto.agent.AgentGrpc;
import io.homeostat.proto.agent.Presentation;
import io.homeostat.proto.agent.ResetRequest;
import io.homeostat.proto.agent.StartRequest;
import io.homeostat.proto.agent.StatesRequest;
import io.homeostat.proto.agent.StopRequest;
import io.homeostat.proto.agent.VerifyRequest;
import io.homeostat.proto.agent.VmEventRequest;
import io.homeostat.proto.agent.WatchRequest;
import io.homeostat.reconcile.agent.api.ApiClient;
import io.homeostat.reconcile.agent.api.ApiReader;
import io.homeostat.reconcile.command.plugin.WatchCommand;

/** {@link Operation}s as calls of the API, and back; as {@link AgentCalls}. */
public final class OperationCalls {
    private OperationCalls() {}

    static int call(ApiClient client, Operation operation, Presentation presentation, ApiReader reader)
            throws InterruptedException {
        return switch (operation) {
            case Operation.Stop it ->
                client.call(
                        AgentGrpc.getStopMethod(),
                        StopRequest.newBuilder()
                                .setPresentation(presentation)
                                .addAllWorkloads(AgentCalls.words(it.workloads()))
                                .setReason(it.reason())
                                .setTimeout(AgentCalls.proto(it.timeout()))
                                .build(),
                        reader);
            case Operation.Start it ->
                client.call(
                        AgentGrpc.getStartMethod(),
                        StartRequest.newBuilder()
                                .setPresentation(presentation)
                                .addAllWorkloads(AgentCalls.words(it.workloads()))
                                .setReason(it.reason())
                                .setTimeout(AgentCalls.proto(it.timeout()))
                                .build(),
                        reader);
            case Operation.Reset it ->
                client.call(
                        AgentGrpc.getResetMethod(),
                        ResetRequest.newBuilder()
                                .setPresentation(presentation)
                                .setYes(it.yes())
                                .setTimeout(AgentCalls.proto(it.timeout()))
                                .build(),
                        reader);
            case Operation.Verify it ->
                client.call(
                        AgentGrpc.getVerifyMethod(),
                        VerifyRequest.newBuilder()
                                .setPresentation(presentation)
                                .setWorkload(it.workload().toString())
                                .setRevision(it.revision())
                                .build(),
                        reader);
            case Operation.States it ->
                client.call(
                        AgentGrpc.getStatesMethod(),
                        StatesRequest.newBuilder().setPresentation(presentation).build(),
                        reader);
            case Operation.VmEventTold told ->
                client.call(
                        AgentGrpc.getVmEventMethod(),
                        VmEventRequest.newBuilder()
                                .setPresentation(presentation)
                                .setEvent(told.event().word())
                                .build(),
                        reader);
            case Operation.Watch watch ->
                client.call(AgentGrpc.getWatchMethod(), watching(watch, presentation), reader);
        };
    }

    private static WatchRequest watching(Operation.Watch watch, Presentation presentation) {
        WatchRequest.Builder request = WatchRequest.newBuilder()
                .setPresentation(presentation)
                .setWorkload(watch.plugin().toString())
                .setCode(watch.code())
                .setTimeout(AgentCalls.proto(watch.timeout()));
        if (watch.request() != null) {
            request.setRequest(watch.request());
        }
        return request.build();
    }

    /**
     * What was asked for.
     *
     * @throws UsageException as each of these, when what was asked for makes no sense */
    public static Request request(StopRequest request) {
        return new Operation.Stop(
                AgentCalls.some(AgentCalls.workloads(request.getWorkloadsList())),
                request.getReason(),
                AgentCalls.timeout(request.hasTimeout(), request.getTimeout()));
    }

    public static Request request(StartRequest request) {
        return new Operation.Start(
                AgentCalls.some(AgentCalls.workloads(request.getWorkloadsList())),
                request.getReason(),
                AgentCalls.timeout(request.hasTimeout(), request.getTimeout()));
    }

    public static Request request(ResetRequest request) {
        return new Operation.Reset(request.getYes(), AgentCalls.timeout(request.hasTimeout(), request.getTimeout()));
    }

    public static Request request(VerifyRequest request) {
        if (request.getRevision().isEmpty()) {
            throw new UsageException("revision: none, and one is needed");
        }
        return new Operation.Verify(AgentCalls.workload(request.getWorkload()), request.getRevision());
    }

    public static Request request(StatesRequest request) {
        return new Operation.States();
    }

    public static Request request(VmEventRequest request) {
        return new Operation.VmEventTold(Operation.event(request.getEvent()));
    }

    public static Request request(WatchRequest request) {
        return new Operation.Watch(
                WatchCommand.plugin(AgentCalls.workload(request.getWorkload())),
                request.hasRequest() ? request.getRequest() : null,
                request.getCode(),
                AgentCalls.timeout(request.hasTimeout(), request.getTimeout()));
    }
}
