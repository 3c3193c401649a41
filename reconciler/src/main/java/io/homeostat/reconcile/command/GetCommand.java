package io.homeostat.reconcile.command;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.GetRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Declared;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Prints what is declared of workloads, and by whom; its JSON is a public interface. */
public record GetCommand(Selection selection) implements Command {
    public static GetCommand of(GetRequest request) {
        return new GetCommand(Selection.of(request.getWorkload(), request.hasSelection(), request.getSelection()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        GetRequest.Builder fields = GetRequest.newBuilder();
        selection.write(fields::setWorkload, fields::setSelection);
        request.setGet(fields);
    }

    @Override
    public int run(Workspace workspace) {
        ImmutableList<StoredDeclaration> declarations =
                workspace.remembered(StateReader::declarations).orElse(ImmutableList.of());
        ImmutableList<WorkloadId> ids = selection.isOpen()
                ? selection.among(StoredState.desired(declarations), workload -> true)
                : selection.names();
        List<Declared> found = new ArrayList<>();
        List<String> missing = new ArrayList<>();
        for (WorkloadId id : ids) {
            Optional<Declared> declared = Declared.of(id, declarations);
            declared.ifPresentOrElse(found::add, () -> missing.add(id + " is not declared; " + words(declarations)));
        }
        if (found.isEmpty() && !missing.isEmpty()) {
            throw new CommandFailure(String.join("\n", missing));
        }
        Console console = workspace.console();
        if (console.json()) {
            Json.print(console.out(), selection.isOne() ? found.getFirst().json() : json(found));
        } else {
            console.out().print(found.stream().map(Declared::yaml).collect(Collectors.joining("---\n")));
        }
        if (ids.isEmpty()) {
            return selection.nothing("is declared", workspace);
        }
        missing.forEach(why -> console.failPart(workspace.word(), why));
        return missing.isEmpty() ? ExitStatus.OK : ExitStatus.FAILED;
    }

    private static String words(ImmutableList<StoredDeclaration> declarations) {
        return Text.declared(declarations.stream()
                .map(declaration -> declaration.workload().id())
                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)));
    }

    private static ObjectNode json(List<Declared> found) {
        ObjectNode json = Json.versioned();
        json.set("workloads", Json.array(found, Declared::fields));
        return json;
    }
}
