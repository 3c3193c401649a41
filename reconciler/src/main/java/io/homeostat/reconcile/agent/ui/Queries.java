package io.homeostat.reconcile.agent.ui;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.EventsRequest;
import io.homeostat.proto.agent.FleetStatusRequest;
import io.homeostat.proto.agent.Format;
import io.homeostat.proto.agent.GetRequest;
import io.homeostat.proto.agent.HistoryRequest;
import io.homeostat.proto.agent.LogsRequest;
import io.homeostat.proto.agent.PlanRequest;
import io.homeostat.proto.agent.Presentation;
import io.homeostat.proto.agent.RollbackRequest;
import io.homeostat.proto.agent.StatusRequest;
import io.homeostat.proto.agent.WorkloadsRequest;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Which command a request of the page is for. What the fields of commands may be is theirs to check. */
final class Queries {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** How much of what has happened already a stream begins with. */
    private static final int EVENTS = 300;

    private static final int LINES = 500;

    private Queries() {}

    /** What is answered at once; empty when there is no such thing. */
    static Optional<CommandRequest> look(String path, Map<String, List<String>> query) {
        return switch (path) {
            case "/api/status" ->
                Optional.of(
                        command().setStatus(StatusRequest.getDefaultInstance()).build());
            case "/api/plan" ->
                Optional.of(command().setPlan(PlanRequest.getDefaultInstance()).build());
            case "/api/declared" ->
                Optional.of(command()
                        .setGet(GetRequest.newBuilder()
                                .setSelection(WorkloadsRequest.newBuilder().setAll(true)))
                        .build());
            case "/api/history" ->
                Optional.of(command()
                        .setHistory(HistoryRequest.newBuilder().setWorkload(workload(query)))
                        .build());
            default -> Optional.empty();
        };
    }

    /** How the fleet is, which is looked at elsewhere than on this machine. */
    static CommandRequest fleet() {
        return command().setFleetStatus(FleetStatusRequest.getDefaultInstance()).build();
    }

    /** What goes on until nobody reads it any more; empty when there is no such thing. */
    static Optional<CommandRequest> follow(String path, Map<String, List<String>> query) {
        return switch (path) {
            case "/api/events" ->
                Optional.of(command()
                        .setEvents(EventsRequest.newBuilder().setFollow(true).setLimit(EVENTS))
                        .build());
            case "/api/logs" ->
                Optional.of(command()
                        .setLogs(LogsRequest.newBuilder()
                                .setWorkload(workload(query))
                                .setFollow(true)
                                .setTail(LINES))
                        .build());
            default -> Optional.empty();
        };
    }

    /** What changes something; empty when that is nothing that can be done here. */
    static Optional<CommandRequest> operation(String body) {
        JsonNode json;
        try {
            json = MAPPER.readTree(body);
        } catch (JsonProcessingException e) {
            return Optional.empty();
        }
        String workload = json.path("workload").asText();
        WorkloadsRequest one = WorkloadsRequest.newBuilder()
                .addWorkloads(workload)
                .setReason(json.path("reason").asText())
                .build();
        return switch (json.path("operation").asText()) {
            case "pause" -> Optional.of(command().setPause(one).build());
            case "resume" -> Optional.of(command().setResume(one).build());
            case "restart" -> Optional.of(command().setRestart(one).build());
            case "rollback" ->
                Optional.of(command()
                        .setRollback(RollbackRequest.newBuilder()
                                .setWorkload(workload)
                                .setRevision(json.path("to").asText()))
                        .build());
            default -> Optional.empty();
        };
    }

    /** The token that is shown; empty when there is none. */
    static String token(String body) {
        try {
            return MAPPER.readTree(body).path("token").asText();
        } catch (JsonProcessingException e) {
            return "";
        }
    }

    private static String workload(Map<String, List<String>> query) {
        return query.getOrDefault("workload", List.of("")).getFirst();
    }

    private static CommandRequest.Builder command() {
        return CommandRequest.newBuilder()
                .setPresentation(Presentation.newBuilder().setFormat(Format.FORMAT_JSON));
    }
}
