package io.homeostat.reconcile.cli;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.yaml.Explain;
import io.homeostat.desired.yaml.Explain.Explanation;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;

/** Explains fields of documents. */
final class ExplainCommand {
    private final String path;
    private final Console console;

    /** @param path empty: what can be asked for */
    ExplainCommand(String path, Console console) {
        this.path = path;
        this.console = console;
    }

    int run() {
        try {
            if (console.json()) {
                Json.print(console.out(), path.isEmpty() ? kinds() : json(Explain.explanation(path)));
            } else {
                console.out()
                        .println(
                                path.isEmpty()
                                        ? String.join("\n", Explain.tops())
                                        : Explain.text(path).stripTrailing());
            }
            return ExitStatus.OK;
        } catch (IllegalArgumentException e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    private static ObjectNode kinds() {
        ObjectNode json = Json.object();
        json.set("kinds", Json.texts(Explain.tops()));
        return json;
    }

    private static ObjectNode json(Explanation explanation) {
        ObjectNode json = Json.object()
                .put("path", explanation.path())
                .put("kind", explanation.kind())
                .put("type", explanation.type())
                .put("description", explanation.description());
        json.set(
                "fields",
                Json.array(
                        explanation.fields(),
                        field -> Json.object()
                                .put("name", field.name())
                                .put("type", field.type())
                                .put("required", field.required())
                                // A string in the notation of a document; null where there is none.
                                .put("default", field.defaultText())
                                .put("description", field.description())));
        return json;
    }
}
