package io.homeostat.reconcile.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.command.DocumentTexts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;

/** Checks files. */
final class ValidateCommand {
    private final Invocation typed;

    ValidateCommand(Invocation typed) {
        this.typed = typed;
    }

    int run() {
        Console console = typed.console();
        ReadResult read = typed.environment().documents().parse(typed.paths().read());
        if (console.json()) {
            Json.print(console.out(), json(read));
        } else {
            DocumentTexts.print(read, console.err());
            if (read.valid()) {
                int count = read.workloads().size();
                console.out().println(count == 1 ? "1 document valid" : count + " documents valid");
            }
        }
        return read.valid() ? ExitStatus.OK : ExitStatus.FAILED;
    }

    private static ObjectNode json(ReadResult read) {
        ObjectNode json = Json.object()
                .put("valid", read.valid())
                .put("documents", read.workloads().size());
        json.set("errors", Json.array(read.errors(), ValidateCommand::json));
        json.set("warnings", Json.array(read.warnings(), ValidateCommand::json));
        return json;
    }

    private static ObjectNode json(Problem problem) {
        return Json.object()
                .put("file", problem.file())
                .put("line", problem.line())
                .put("column", problem.column())
                .put("message", problem.message());
    }
}
