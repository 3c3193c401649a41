package io.homeostat.reconcile.command;

import io.homeostat.desired.platform.VirtualThreads;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.InspectRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;

/**
 * Shows what the threads of the agent that it runs in are doing: all platform threads, and the virtual ones of {@link VirtualThreads},
 * passes under the names of their workloads.
 */
public record InspectCommand() implements Command {
    @Override
    public void write(CommandRequest.Builder request) {
        request.setInspect(InspectRequest.getDefaultInstance());
    }

    @Override
    public int run(Workspace workspace) {
        if (workspace.enforcer().agent().isEmpty()) {
            throw new CommandFailure("the threads of an agent are only known to itself; kill -QUIT, and it writes them"
                    + " to its standard output");
        }
        workspace.console().out().print(threads());
        return ExitStatus.OK;
    }

    private static String threads() {
        StringBuilder text = new StringBuilder();
        Thread.getAllStackTraces().forEach((thread, frames) -> write(text, thread, frames));
        VirtualThreads.running().forEach(thread -> write(text, thread, thread.getStackTrace()));
        return text.toString();
    }

    private static void write(StringBuilder text, Thread thread, StackTraceElement[] frames) {
        text.append('#')
                .append(thread.threadId())
                .append(" \"")
                .append(thread.getName())
                .append('"');
        text.append(thread.isVirtual() ? " virtual " : " ")
                .append(thread.getState())
                .append('\n');
        for (StackTraceElement frame : frames) {
            text.append("    at ").append(frame).append('\n');
        }
        text.append('\n');
    }
}
