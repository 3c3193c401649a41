package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A shell command of a story, which has to end and to succeed. */
final class Script {
    private static final long PATIENCE_SECONDS = 60;

    private Script() {}

    static void run(Path directory, String text) throws IOException, InterruptedException {
        // A pipe would be read until the last process that has it ends. Not in the story's directory, whose files are
        // counted.
        Path output = Files.createTempFile("script", ".out");
        try {
            Process process = new ProcessBuilder("/bin/sh", "-euc", text)
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = false;
            try {
                ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
            } finally {
                if (!ended) {
                    kill(process);
                }
            }
            String said = new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
            assertTrue(ended, () -> "did not end in " + PATIENCE_SECONDS + " s\n" + said);
            assertEquals(0, process.exitValue(), () -> text + "\n" + said);
        } finally {
            Files.delete(output);
        }
    }

    private static void kill(Process process) {
        ImmutableList<ProcessHandle> below = process.descendants().collect(ImmutableList.toImmutableList());
        process.destroyForcibly();
        below.forEach(ProcessHandle::destroyForcibly);
    }
}
