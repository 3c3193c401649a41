package io.homeostat.reconcile.command;

import io.homeostat.desired.model.SourceName;
import java.util.Arrays;
import java.util.Optional;

/** A server for another program, which an agent enforces what it is asked for: everything under a source of its own. */
public enum FrontEnd {
    /** {@code homeostat nomad-driver}. */
    NOMAD_DRIVER("nomad-driver", SourceName.NOMAD),
    /** {@code homeostat guest}. */
    GUEST("guest", SourceName.GUEST);

    private final String command;
    private final SourceName source;

    FrontEnd(String command, SourceName source) {
        this.command = command;
        this.source = source;
    }

    /** By which it is started, and its files are called. */
    public String command() {
        return command;
    }

    public SourceName source() {
        return source;
    }

    /** As requests name it: the first one not at all. */
    static Optional<FrontEnd> ofCommand(String command) {
        return command.isEmpty()
                ? Optional.of(NOMAD_DRIVER)
                : Arrays.stream(values())
                        .filter(one -> one.command.equals(command))
                        .findFirst();
    }
}
