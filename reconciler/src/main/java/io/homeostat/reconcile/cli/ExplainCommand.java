package io.homeostat.reconcile.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.homeostat.desired.yaml.Explain;
import io.homeostat.desired.yaml.Explain.Explanation;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import java.io.IOException;

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
                Json.print(console.out(), path.isEmpty() ? ExplainCommand::kinds : this::write);
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

    private static void kinds(JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeArrayFieldStart("kinds");
        for (String top : Explain.tops()) {
            json.writeString(top);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void write(JsonGenerator json) throws IOException {
        Explanation explanation = Explain.explanation(path);
        json.writeStartObject();
        json.writeStringField("path", explanation.path());
        json.writeStringField("kind", explanation.kind());
        json.writeStringField("type", explanation.type());
        json.writeStringField("description", explanation.description());
        json.writeArrayFieldStart("fields");
        for (Explanation.Member field : explanation.fields()) {
            json.writeStartObject();
            json.writeStringField("name", field.name());
            json.writeStringField("type", field.type());
            json.writeBooleanField("required", field.required());
            // A string in the notation of a document; null where there is none.
            json.writeStringField("default", field.defaultText());
            json.writeStringField("description", field.description());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeEndObject();
    }
}
