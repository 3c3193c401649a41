package io.homeostat.reconcile.cli;

import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.ExitStatus;
import io.homeostat.reconcile.command.UsageException;
import io.homeostat.reconcile.command.output.Console;
import picocli.AutoComplete;
import picocli.CommandLine;

/** Prints a completion script. */
final class CompletionCommand implements Command {
    private final String shell;
    private final Console console;

    CompletionCommand(String shell, Console console) {
        this.shell = shell;
        this.console = console;
    }

    @Override
    public int run() {
        if (!shell.equals("bash")) {
            throw new UsageException("there is no completion for '" + shell + "'; write bash");
        }
        CommandLine line = Syntax.commandLine();
        console.out().println(AutoComplete.bash(line.getCommandName(), line).stripTrailing());
        return ExitStatus.OK;
    }
}
