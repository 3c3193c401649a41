package io.homeostat.reconcile.cli;

import io.homeostat.proto.agent.AgentGrpc;
import io.homeostat.proto.agent.Presentation;
import io.homeostat.proto.agent.VmEventRequest;
import io.homeostat.proto.agent.WatchRequest;
import io.homeostat.reconcile.api.ApiClient;
import io.homeostat.reconcile.api.ApiReader;

/** {@link Operation}s as calls of the API, and back; as {@link AgentCalls}. */
final class OperationCalls {
    private OperationCalls() {}

    static int call(ApiClient client, Operation operation, Presentation presentation, ApiReader reader)
            throws InterruptedException {
        return switch (operation) {
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

    /** @throws UsageException as each of these, when what was asked for makes no sense */
    static Request request(VmEventRequest request) {
        return new Operation.VmEventTold(Operation.event(request.getEvent()));
    }

    static Request request(WatchRequest request) {
        return new Operation.Watch(
                Operation.plugin(AgentCalls.workload(request.getWorkload())),
                request.hasRequest() ? request.getRequest() : null,
                request.getCode(),
                AgentCalls.timeout(request.hasTimeout(), request.getTimeout()));
    }
}
