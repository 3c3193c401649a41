package io.homeostat.reconcile.cli;

import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.Version;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;

/** Prints the version. */
final class VersionCommand {
    private final Console console;

    public VersionCommand(Console console) {
        this.console = console;
    }

    int run() {
        String version = Version.current();
        String java = Runtime.version().toString();
        if (console.json()) {
            Json.print(console.out(), json -> {
                json.writeStartObject();
                json.writeStringField("version", version);
                json.writeStringField("java", java);
                json.writeEndObject();
            });
        } else {
            console.out().println("homeostat " + version + " (Java " + java + ")");
        }
        return ExitStatus.OK;
    }
}
