package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.platform.MetadataClient;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.ZoneOffset;

/**
 * All that a command has from outside: so that a test can be the outside.
 *
 * @param uid number of the user we act as
 * @param outIsTerminal whether a person reads {@code out} as it is written
 * @param errIsTerminal whether a person reads {@code err} as it is written
 * @param interrupts SIGINT and SIGTERM
 */
record Environment(
        ImmutableMap<String, String> variables,
        Path workingDirectory,
        long uid,
        InputStream in,
        PrintStream out,
        PrintStream err,
        boolean outIsTerminal,
        boolean errIsTerminal,
        Clock clock,
        Interrupts interrupts) {

    static Environment ofThisProcess() {
        return new Environment(
                ImmutableMap.copyOf(System.getenv()),
                Path.of("").toAbsolutePath(),
                ownUid(),
                System.in,
                new StandardOutput(new FileOutputStream(FileDescriptor.out)),
                new StandardOutput(new FileOutputStream(FileDescriptor.err)),
                isTerminal(1),
                isTerminal(2),
                Clock.tickMillis(ZoneOffset.UTC),
                Interrupts.ofThisProcess());
    }

    String variable(String name) {
        return variables.getOrDefault(name, "");
    }

    /** The cloud's, which is asked nothing before somebody wants to know something. */
    MetadataClient metadata() {
        return new MetadataClient(MetadataClient.host(variables));
    }

    boolean outIsDrawable() {
        return outIsTerminal && !variable("TERM").equals("dumb");
    }

    boolean errIsDrawable() {
        return errIsTerminal && !variable("TERM").equals("dumb");
    }

    boolean isRoot() {
        return uid == 0;
    }

    private static long ownUid() {
        try {
            return ((Number) Files.getAttribute(Path.of("/proc/self"), "unix:uid")).longValue();
        } catch (IOException e) {
            throw new UncheckedIOException("/proc is not mounted, and nothing can be observed without it", e);
        }
    }

    /** Java knows only whether both ends of the console are terminals. */
    private static boolean isTerminal(int descriptor) {
        try {
            String file = Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor))
                    .toString();
            return file.startsWith("/dev/pts/") || file.startsWith("/dev/tty") || file.equals("/dev/console");
        } catch (IOException e) {
            return false;
        }
    }
}
