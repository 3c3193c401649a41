package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.GetRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Declared;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Text;

/** Prints what is declared of a workload, and by whom; its JSON is a public interface. */
public record GetCommand(WorkloadId workload) implements Command {
    public static GetCommand of(GetRequest request) {
        return new GetCommand(RequestFields.workload(request.getWorkload()));
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setGet(GetRequest.newBuilder().setWorkload(workload.toString()));
    }

    @Override
    public int run(Workspace workspace) {
        ImmutableList<StoredDeclaration> declarations =
                workspace.remembered(StateReader::declarations).orElse(ImmutableList.of());
        Declared declared = Declared.of(workload, declarations)
                .orElseThrow(() -> new CommandFailure(workload + " is not declared; "
                        + Text.declared(declarations.stream()
                                .map(declaration -> declaration.workload().id())
                                .collect(ImmutableSortedSet.toImmutableSortedSet(WorkloadId::compareTo)))));
        if (workspace.console().json()) {
            Json.print(workspace.console().out(), declared.json());
        } else {
            workspace.console().out().print(declared.yaml());
        }
        return ExitStatus.OK;
    }
}
