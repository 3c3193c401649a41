package io.homeostat.reconcile.command.plugin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BooleanNode;
import com.fasterxml.jackson.databind.node.DoubleNode;
import com.fasterxml.jackson.databind.node.FloatNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Message;
import com.google.protobuf.Timestamp;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.source.StoredState;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.proto.acp.CurrentPluginStates.DaemonPluginState;
import io.homeostat.proto.acp.CurrentPluginStates.OneShotPluginState;
import io.homeostat.proto.acp.CurrentPluginStates.Status;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.StatesRequest;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Table;
import io.homeostat.reconcile.command.output.Text;
import io.homeostat.reconcile.controlplane.PluginStates;
import io.homeostat.reconcile.plan.Situations;
import java.time.Instant;
import java.util.List;
import java.util.stream.Collectors;

/** Shows the states of plugins as the control plane would get them, without counting as a report. JSON as in the protocol. */
public record StatesCommand() implements Command {
    @Override
    public void write(CommandRequest.Builder request) {
        request.setStates(StatesRequest.getDefaultInstance());
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Workspace.View view = workspace.survey(
                StoredState::desired,
                Workspace.AS_REMEMBERED,
                Situations.Depth.HEALTH,
                id -> id.kind().equals(Kind.PLUGIN));
        CurrentPluginStates states =
                PluginStates.of(view.findings(), workspace.enforcer().usageReport());
        Console console = workspace.console();
        if (console.json()) {
            Json.print(console.out(), ProtoJson.of(states));
        } else {
            table(states, console);
        }
        return ExitStatus.OK;
    }

    private static void table(CurrentPluginStates states, Console console) {
        Table table = new Table("PLUGIN", "REVISION", "STATUS", "CODE", "PENDING", "PENDING STATUS", "RESULTS");
        for (DaemonPluginState state : states.getDaemonPluginStatesList()) {
            row(
                    table,
                    state.getName(),
                    state.getCurrentRevisionId(),
                    state.getCurrentPluginStatus(),
                    state.getPendingRevisionId(),
                    state.getPendingPluginStatus());
        }
        for (OneShotPluginState state : states.getOneShotPluginStatesList()) {
            row(
                    table,
                    state.getName(),
                    state.getCurrentRevisionId(),
                    state.getCurrentPluginStatus(),
                    state.getPendingRevisionId(),
                    state.getPendingPluginStatus());
        }
        table.print(console.out(), console.ansi());
    }

    private static void row(
            Table table, String name, String revision, Status current, String pendingRevision, Status pending) {
        boolean isPending = !pendingRevision.isEmpty();
        table.row(
                name,
                revision.isEmpty() ? "-" : revision,
                current.getStatus().name(),
                Integer.toString(current.getResponseCode()),
                isPending ? pendingRevision : "-",
                isPending ? pending.getStatus().name() : "-",
                current.getResultsList().stream().map(Text::oneLine).collect(Collectors.joining("; ")));
    }

    /**
     * Messages in protobuf's JSON (protobuf.dev/programming-guides/json), as far as the control plane's messages about states need it: no
     * maps, unsigned numbers or bytes, no well-known types but Timestamp. Defaults are left out.
     */
    private static final class ProtoJson {
        private ProtoJson() {}

        static JsonNode of(Message message) {
            if (message instanceof Timestamp time) {
                return TextNode.valueOf(Instant.ofEpochSecond(time.getSeconds(), time.getNanos())
                        .toString());
            }
            ObjectNode json = Json.object();
            message.getAllFields()
                    .forEach((field, value) -> json.set(
                            field.getJsonName(),
                            field.isRepeated() ? Json.array((List<?>) value, ProtoJson::value) : value(value)));
            return json;
        }

        private static JsonNode value(Object value) {
            return switch (value) {
                case Message message -> of(message);
                case String text -> TextNode.valueOf(text);
                case EnumValueDescriptor constant -> TextNode.valueOf(constant.getName());
                case Integer number -> IntNode.valueOf(number);
                // As text: not every number of 64 bits is one of JavaScript's.
                case Long number -> TextNode.valueOf(number.toString());
                case Float number -> FloatNode.valueOf(number);
                case Double number -> DoubleNode.valueOf(number);
                case Boolean truth -> BooleanNode.valueOf(truth);
                default -> throw new IllegalArgumentException("no JSON for " + value.getClass());
            };
        }
    }
}
