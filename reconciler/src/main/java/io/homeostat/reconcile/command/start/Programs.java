package io.homeostat.reconcile.command.start;

import io.homeostat.observe.process.Executables;
import java.nio.file.Path;
import java.util.Optional;

/** Where programs are that others name without a directory. */
final class Programs {
    private Programs() {}

    /** The program as an absolute path; empty when it is in none of the system's directories. */
    static Optional<String> find(String name) {
        if (name.startsWith("/")) {
            return Optional.of(name);
        }
        return name.contains("/")
                ? Optional.empty()
                : Executables.find(name, Executables.DEFAULT_PATH).map(Path::toString);
    }
}
