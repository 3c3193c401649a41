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
            Json.print(console.out(), Json.object().put("version", version).put("java", java));
        } else {
            console.out().println("homeostat " + version + " (Java " + java + ")");
        }
        return ExitStatus.OK;
    }
}
