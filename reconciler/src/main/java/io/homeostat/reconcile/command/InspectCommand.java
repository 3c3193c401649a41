package io.homeostat.reconcile.command;

import java.io.IOException;

/** Shows what the threads of an agent are doing: of the one it runs in. */
final class InspectCommand implements Command {
    private final Workspace workspace;

    InspectCommand(Workspace workspace) {
        this.workspace = workspace;
    }

    @Override
    public int run() {
        if (workspace.enforcer().agent().isEmpty()) {
            throw new CommandFailure("the threads of an agent are only known to itself; kill -QUIT, and it writes them"
                    + " to its standard output");
        }
        try {
            workspace.console().out().print(ThreadDump.take(workspace.layout().runDir()));
        } catch (IOException e) {
            throw new CommandFailure("the threads could not be written to a file: " + LogsCommand.reason(e), e);
        }
        return ExitStatus.OK;
    }
}
