package io.homeostat.reconcile.cli;

import io.homeostat.desired.yaml.JsonSchema;
import io.homeostat.reconcile.command.Command;
import io.homeostat.reconcile.command.ExitStatus;
import io.homeostat.reconcile.command.output.Console;

/** Prints the JSON Schema of documents. */
final class SchemaCommand implements Command {
    private final Console console;

    SchemaCommand(Console console) {
        this.console = console;
    }

    @Override
    public int run() {
        console.out().println(JsonSchema.generate().stripTrailing());
        return ExitStatus.OK;
    }
}
