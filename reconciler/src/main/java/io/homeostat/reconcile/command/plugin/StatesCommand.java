package io.homeostat.reconcile.command.plugin;

import com.google.common.collect.ImmutableList;
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
import java.util.stream.Collectors;

/** Shows how plugins are as a control plane would be told; nothing counts as told thereby. JSON as the protocol has it. */
public record StatesCommand() implements Command {
    @Override
    public void write(CommandRequest.Builder request) {
        request.setStates(StatesRequest.getDefaultInstance());
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        Workspace.View view = workspace.survey(
                StoredState::desired,
                ImmutableList.of(),
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
        Table table = new Table("PLUGIN", "REVISION", "STATUS", "CODE", "PENDING", "STATUS", "RESULTS");
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
}
