package io.homeostat.reconcile.command.plugin;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.ExitStatus;
import io.homeostat.reconcile.command.Verb;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.OneLine;
import io.homeostat.reconcile.command.output.PlanJson;
import io.homeostat.reconcile.command.output.Table;
import io.homeostat.reconcile.command.plugin.VmEventRound.Told;
import io.homeostat.reconcile.loop.Turns;
import java.util.List;
import java.util.stream.Stream;

/** Tells every plugin that runs of something that happens to the machine; its JSON is a public interface. */
public final class VmEventCommand implements Command {
    private final Workspace workspace;
    private final VmEvent event;

    public VmEventCommand(Workspace workspace, VmEvent event) {
        this.workspace = workspace;
        this.event = event;
    }

    @Override
    public int run() throws InterruptedException {
        if (workspace.remembered(StateReader::everDeclared).isEmpty()) {
            // No state directory: nothing to lock, and nobody to tell.
            return print(ImmutableList.of());
        }
        return workspace.enforcer().undisturbed(workspace, Verb.VM_EVENT, this::tell);
    }

    private int tell(Turns turns) throws InterruptedException {
        ImmutableSortedSet<WorkloadId> known =
                workspace.remembered(VmEventCommand::plugins).orElse(ImmutableSortedSet.of());
        try (PluginChannel plugins = new PluginChannel(workspace.environment().clock())) {
            PluginTalks talks = new PluginTalks(workspace.layout(), new ProcFs(), turns, workspace::instances);
            return print(new VmEventRound(talks, plugins).tell(event, known));
        }
    }

    private static ImmutableSortedSet<WorkloadId> plugins(StateReader reader) {
        return Stream.concat(
                        reader.declarations().stream()
                                .map(declaration -> declaration.workload().id()),
                        reader.instances().stream().map(Instance::workload))
                .filter(id -> id.kind().equals(Kind.PLUGIN))
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo));
    }

    private int print(ImmutableList<Told> told) {
        Console console = workspace.console();
        if (console.json()) {
            Json.print(console.out(), json -> {
                json.writeStartObject();
                json.writeStringField("formatVersion", PlanJson.FORMAT_VERSION);
                json.writeStringField("event", event.word());
                json.writeArrayFieldStart("plugins");
                for (Told one : told) {
                    json.writeStartObject();
                    json.writeStringField("workload", one.plugin().toString());
                    json.writeStringField("revision", one.revision());
                    json.writeNumberField("code", one.code());
                    json.writeStringField("message", one.message());
                    json.writeEndObject();
                }
                json.writeEndArray();
                json.writeEndObject();
            });
        } else if (told.isEmpty()) {
            console.say("no plugin is declared here, so nobody was told");
        } else {
            table(told, console);
        }
        return told.stream().anyMatch(one -> one.code() == Told.FAILED) ? ExitStatus.FAILED : ExitStatus.OK;
    }

    private static void table(List<Told> told, Console console) {
        Table table = new Table("PLUGIN", "REVISION", "CODE", "RESULT");
        for (Told one : told) {
            table.row(
                    one.plugin().toString(),
                    one.revision().isEmpty() ? "-" : one.revision(),
                    Integer.toString(one.code()),
                    one.message().isEmpty() ? "told" : OneLine.of(one.message()));
        }
        table.print(console.out(), console.ink());
    }
}
