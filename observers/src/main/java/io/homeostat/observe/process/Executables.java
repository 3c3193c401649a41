package io.homeostat.observe.process;

import com.google.common.base.Splitter;
import com.google.common.base.Strings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Finds programs as execvp(3) does; those for ourselves on the system first, whatever PATH our caller has. */
public final class Executables {
    /** Where the system's programs are: PATH of every workload, and where we look first. */
    public static final String DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    private Executables() {}

    /** The file that this command names, searched on the system first when it has no slash; empty when there is none that we may execute. */
    public static Optional<Path> find(String command) {
        return find(command, DEFAULT_PATH + ":" + Strings.nullToEmpty(System.getenv("PATH")));
    }

    /** The same, searched along a PATH and nowhere else; null or empty for the system's directories. */
    public static Optional<Path> find(String command, @Nullable String path) {
        if (command.contains("/")) {
            return Optional.of(Path.of(command)).filter(Executables::isExecutable);
        }
        return Splitter.on(':')
                .splitToStream(Strings.isNullOrEmpty(path) ? DEFAULT_PATH : path)
                .filter(directory -> !directory.isEmpty())
                .map(directory -> Path.of(directory, command))
                .filter(Executables::isExecutable)
                .findFirst();
    }

    /** What a command names in a directory: a path with a slash is one from there. */
    public static String from(String directory, String command) {
        return command.contains("/") ? Path.of(directory).resolve(command).toString() : command;
    }

    private static boolean isExecutable(Path file) {
        return Files.isRegularFile(file) && Files.isExecutable(file);
    }
}
