package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;

/** Processes that a story started, and that live: their environment, working directory or standard output names its directory. */
final class Leftovers {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Pattern inside;

    /** @param directory with a name that nothing else has */
    Leftovers(Path directory) {
        // Not that of another story, whose name begins like this one's.
        this.inside = Pattern.compile(Pattern.quote(directory.toString()) + "(?![\\w.-])");
    }

    /** Kills them, and waits until they are gone, also those that they start until then. */
    void end() {
        await().pollDelay(Duration.ZERO).atMost(PATIENCE).untilAsserted(() -> {
            ImmutableList<ProcessHandle> left = left();
            left.forEach(ProcessHandle::destroyForcibly);
            assertEquals(ImmutableList.of(), left, "processes that can't be killed");
        });
    }

    private ImmutableList<ProcessHandle> left() {
        long self = ProcessHandle.current().pid();
        return ProcessHandle.allProcesses()
                .filter(process -> process.pid() != self && isInside(process.pid()))
                .collect(ImmutableList.toImmutableList());
    }

    private boolean isInside(long pid) {
        Path process = Path.of("/proc", Long.toString(pid));
        String environment = environment(process);
        // Threads of the kernel and what has ended have none.
        return !environment.isEmpty()
                && (inside.matcher(environment).find()
                        || beginsInside(process.resolve("cwd"))
                        || beginsInside(process.resolve("fd/1")));
    }

    private boolean beginsInside(Path link) {
        try {
            return inside.matcher(Files.readSymbolicLink(link).toString()).lookingAt();
        } catch (IOException e) {
            // It has ended, or is somebody else's.
            return false;
        }
    }

    private static String environment(Path process) {
        try {
            return new String(Files.readAllBytes(process.resolve("environ")), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            // It is gone, or somebody else's.
            return "";
        }
    }
}
