package io.homeostat.observe.process;

import com.google.common.base.Splitter;
import com.google.common.base.Strings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Finds programs as execvp(3) does. */
public final class Executables {
    /** Where the system's programs are: PATH of every workload, and ours when it is not set. */
    static final String DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    private Executables() {}

    /** The file that this command names, searched along PATH when it has no slash; empty when there is none that we may execute. */
    public static Optional<Path> find(String command) {
        if (command.contains("/")) {
            return Optional.of(Path.of(command)).filter(Executables::isExecutable);
        }
        String path = System.getenv("PATH");
        return Splitter.on(':')
                .splitToStream(Strings.isNullOrEmpty(path) ? DEFAULT_PATH : path)
                .filter(directory -> !directory.isEmpty())
                .map(directory -> Path.of(directory, command))
                .filter(Executables::isExecutable)
                .findFirst();
    }

    private static boolean isExecutable(Path file) {
        return Files.isRegularFile(file) && Files.isExecutable(file);
    }
}
