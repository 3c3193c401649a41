package io.homeostat.reconcile.command.fleet;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;

/** What a command for a fleet answers. */
public interface FleetAnswer {
    /** Prints it for people. */
    void print(Console console);

    /** The same for programs. */
    ObjectNode json();

    /** Prints it for whom the console is. */
    default void show(Console console) {
        if (console.json()) {
            Json.print(console.out(), json());
        } else {
            print(console);
        }
    }
}
