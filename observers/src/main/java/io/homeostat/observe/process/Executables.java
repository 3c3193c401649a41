package io.homeostat.observe.process;

import com.google.common.base.CharMatcher;
import com.google.common.base.Splitter;
import com.google.common.base.Strings;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Finds programs as execvp(3) does; those for ourselves on the system first, whatever PATH our caller has. */
public final class Executables {
    /** Where the system's programs are: PATH of every workload, and where we look first. */
    public static final String DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    /** So much of a file says how the kernel executes it: BINPRM_BUF_SIZE of Linux, in bytes. */
    public static final int HEAD = 256;

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

    /**
     * The interpreter that the first line of a file names, execve(2); empty when it names none, and an empty text when the kernel can't read
     * the name.
     *
     * @param head the first {@link #HEAD} bytes of the file
     */
    public static Optional<String> interpreter(byte[] head) {
        if (head.length < 2 || head[0] != '#' || head[1] != '!') {
            return Optional.empty();
        }
        String text = new String(head, 2, head.length - 2, StandardCharsets.UTF_8);
        String line = CharMatcher.anyOf(" \t").trimLeadingFrom(text);
        int end = CharMatcher.anyOf(" \t\n\0").indexIn(line);
        if (end < 0) {
            return Optional.of(head.length == HEAD ? "" : line);
        }
        return Optional.of(line.substring(0, end));
    }

    private static boolean isExecutable(Path file) {
        return Files.isRegularFile(file) && Files.isExecutable(file);
    }
}
