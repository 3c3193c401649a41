package io.homeostat.reconcile.command.start;

import com.google.common.base.Splitter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Where programs are that others name without a directory. */
final class Programs {
    private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    private Programs() {}

    /** The program as an absolute path; empty when it is in none of the system's directories. */
    static Optional<String> find(String name) {
        if (name.startsWith("/")) {
            return Optional.of(name);
        }
        if (name.contains("/") || name.isEmpty()) {
            return Optional.empty();
        }
        return Splitter.on(':')
                .splitToStream(PATH)
                .map(directory -> Path.of(directory, name))
                .filter(file -> Files.isRegularFile(file) && Files.isExecutable(file))
                .map(Path::toString)
                .findFirst();
    }
}
