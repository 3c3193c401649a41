package io.homeostat.reconcile.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import java.io.IOException;
import java.util.List;

/** Checks files. */
final class ValidateCommand {
    private final DocumentPaths paths;
    private final Console console;

    ValidateCommand(DocumentPaths paths, Console console) {
        this.paths = paths;
        this.console = console;
    }

    int run() {
        ReadResult read = paths.read();
        if (console.json()) {
            Json.print(console.out(), json -> write(read, json));
        } else {
            DocumentPaths.print(read, console.err());
            if (read.valid()) {
                int count = read.workloads().size();
                console.out().println(count == 1 ? "1 document valid" : count + " documents valid");
            }
        }
        return read.valid() ? ExitStatus.OK : ExitStatus.FAILED;
    }

    private static void write(ReadResult read, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeBooleanField("valid", read.valid());
        json.writeNumberField("documents", read.workloads().size());
        write("errors", read.errors(), json);
        write("warnings", read.warnings(), json);
        json.writeEndObject();
    }

    private static void write(String field, List<Problem> problems, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart(field);
        for (Problem problem : problems) {
            json.writeStartObject();
            json.writeStringField("file", problem.file());
            json.writeNumberField("line", problem.line());
            json.writeNumberField("column", problem.column());
            json.writeStringField("message", problem.message());
            json.writeEndObject();
        }
        json.writeEndArray();
    }
}
