package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Somebody else on this machine, without any right of root, who does things in a shell. */
enum OtherUser {
    NOBODY,
    DAEMON;

    /** Skips the test where nobody can become somebody else. */
    static void needed() {
        assumeTrue(Files.isWritable(Path.of("/")), "only root can become other users");
    }

    /** As in /etc/passwd. */
    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Makes a file or directory theirs, with all that is in it. */
    void own(Path path) {
        finish(List.of("chown", "-hR", word() + ":", path.toString()));
    }

    /** Does what has to succeed. */
    void does(String script) {
        finish(as(script));
    }

    /** Starts what is to run meanwhile. */
    Process starts(Map<String, String> environment, String script) {
        return start(as(script), environment);
    }

    private List<String> as(String script) {
        return List.of(
                "setpriv", "--reuid=" + word(), "--regid=" + group(), "--clear-groups", "--", "/bin/sh", "-c", script);
    }

    private String group() {
        return this == NOBODY ? "65534" : "daemon";
    }

    private static void finish(List<String> command) {
        Process process = start(command, Map.of());
        try {
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(Patience.LONGEST.toSeconds(), TimeUnit.SECONDS)) {
                process.destroyForcibly();
                fail(command + " does not end");
            }
            assertEquals(0, process.exitValue(), () -> command + " said: " + said);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            fail("interrupted", e);
        }
    }

    private static Process start(List<String> command, Map<String, String> environment) {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        try {
            return builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
