package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A command that runs as a process of its own. */
final class Command implements RunningCommand {
    private final String words;
    private final Process process;
    private final Path out;
    private final Path err;
    private final long startedAt = System.nanoTime();

    Command(String words, Process process, Path out, Path err) {
        this.words = words;
        this.process = process;
        this.out = out;
        this.err = err;
    }

    long pid() {
        return process.pid();
    }

    /** Whether it was {@code homeostat run}. */
    boolean isAgent() {
        return words.startsWith("run ");
    }

    @Override
    public boolean isRunning() {
        return process.isAlive();
    }

    @Override
    public String soFar() {
        return text(out) + text(err);
    }

    /** kill -9. */
    Result kill() {
        process.destroyForcibly();
        return await(Duration.ofSeconds(30));
    }

    @Override
    public void terminate() {
        process.destroy();
    }

    @Override
    public void hangUp() {
        Processes.signal("HUP", pid());
    }

    /** Waits for its end. It is killed when that does not come, and the test fails. */
    @Override
    public Result await(Duration patience) {
        try {
            if (!process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly().waitFor();
                return fail("not done within " + patience.toSeconds() + " s: " + result());
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            return fail("interrupted", e);
        }
        return result();
    }

    private Result result() {
        return new Result(
                words, process.exitValue(), text(out), text(err), Duration.ofNanos(System.nanoTime() - startedAt));
    }

    private static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
