package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.ByteString;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.ExecRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.runtime.Execution;
import io.homeostat.reconcile.runtime.Execution.Event;
import io.homeostat.reconcile.runtime.KindRuntime;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.util.Optional;

/**
 * Runs a command in what runs of a workload, and ends as it does. It holds no lock and changes nothing that is remembered, so it may last.
 *
 * @param interactive whether it can read what is typed
 * @param terminal whether it gets a terminal
 */
public record ExecCommand(WorkloadId workload, ImmutableList<String> command, boolean interactive, boolean terminal)
        implements Command {
    public ExecCommand {
        if (command.isEmpty() || command.getFirst().isEmpty()) {
            throw new UsageException("needs a command after --, such as: homeostat exec " + workload + " -- ls -l");
        }
    }

    static ExecCommand of(ExecRequest request) {
        return new ExecCommand(
                RequestFields.workload(request.getWorkload()),
                ImmutableList.copyOf(request.getCommandList()),
                request.getInteractive(),
                request.getTerminal());
    }

    /** As an agent is asked for it. */
    public static ExecCommand of(CommandRequest request) {
        return of(request.getExec());
    }

    @Override
    public void write(CommandRequest.Builder request) {
        request.setExec(ExecRequest.newBuilder()
                .setWorkload(workload.toString())
                .addAllCommand(command)
                .setInteractive(interactive)
                .setTerminal(terminal));
    }

    @Override
    public Optional<Reading> reading() {
        return Optional.of(new Reading(interactive, terminal));
    }

    @Override
    public int run(Workspace workspace) throws InterruptedException {
        try (Interrupts.Guard _ = workspace.environment().interrupts().guard();
                LiveInstance live = new LiveInstance(workspace, workload)) {
            KindRuntime.Executing kind = live.able(KindRuntime.Executing.class);
            try (Execution execution =
                            kind.exec(live.instance(), new Execution.Request(command, interactive, terminal));
                    Typing _ = Typing.begin(workspace, new Reading(interactive, terminal), sink(execution))) {
                return handOn(execution, workspace.console());
            }
        } catch (ActuationFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    private int handOn(Execution execution, Console console) throws ActuationFailure, InterruptedException {
        while (true) {
            switch (execution.next()) {
                case Event.Ended(int status) -> {
                    return status;
                }
                case Event.Output(ByteString bytes, boolean isError) ->
                    // At a terminal there is one output.
                    write(bytes, isError && !terminal ? console.err() : console.out());
            }
            if (!console.isRead()) {
                // As the kernel would have ended it.
                return ExitStatus.UNREAD;
            }
        }
    }

    private static void write(ByteString bytes, PrintStream stream) {
        try {
            bytes.writeTo(stream);
            stream.flush();
        } catch (IOException e) {
            throw new UncheckedIOException("a PrintStream throws nothing", e);
        }
    }

    private static Typing.Sink sink(Execution execution) {
        return new Typing.Sink() {
            @Override
            public boolean write(ByteString bytes) throws InterruptedException {
                return execution.write(bytes);
            }

            @Override
            public boolean endInput() throws InterruptedException {
                return execution.endInput();
            }

            @Override
            public boolean resize(int rows, int columns) throws InterruptedException {
                return execution.resize(rows, columns);
            }
        };
    }
}
