package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableMap;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.output.StandardOutput;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.ZoneOffset;

/** What this process was started with: its variables, streams, user and signals. */
final class ThisProcess {
    private ThisProcess() {}

    static Environment environment() {
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
                new ProcessSignals());
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
