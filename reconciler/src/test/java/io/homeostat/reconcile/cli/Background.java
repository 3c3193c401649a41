package io.homeostat.reconcile.cli;

import static org.awaitility.Awaitility.await;

import io.homeostat.reconcile.cli.Shell.Result;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.awaitility.core.ConditionTimeoutException;

/** A command under way, which goes on until it is interrupted. */
final class Background {
    /** How long tests of commands wait for what is to come. */
    static final Duration PATIENCE = Duration.ofMinutes(3);

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final CompletableFuture<Result> ended = new CompletableFuture<>();
    private final Thread thread;

    Background(Shell shell, String... words) {
        thread = Thread.ofPlatform().start(() -> {
            try {
                ended.complete(shell.into(out, words));
            } catch (RuntimeException | Error e) {
                ended.completeExceptionally(e);
            }
        });
    }

    /** What it has printed by now. */
    String text() {
        return out.toString(StandardCharsets.UTF_8);
    }

    /** Waits until a regular expression is found in what it has printed, or it has ended without that. */
    void awaitOutput(String expression) {
        Pattern wanted = Pattern.compile(expression);
        try {
            await().atMost(PATIENCE)
                    .until(() -> ended.isDone() || wanted.matcher(text()).find());
        } catch (ConditionTimeoutException e) {
            throw new AssertionError("has not printed " + expression + " but\n" + text(), e);
        }
        if (!wanted.matcher(text()).find()) {
            throw new AssertionError("has ended without printing " + expression + ":\n" + result());
        }
    }

    /** Ends it, whatever it would say. */
    void end() {
        thread.interrupt();
        try {
            thread.join(PATIENCE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            throw new IllegalStateException("goes on although it was interrupted, and has printed\n" + text());
        }
    }

    /** Ends it, unless it has ended. */
    Result interrupt() throws InterruptedException {
        thread.interrupt();
        try {
            ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            return result();
        } catch (ExecutionException | TimeoutException e) {
            throw new IllegalStateException(e);
        }
    }

    /** That of a command that has ended. */
    private Result result() {
        Result result = ended.join();
        return new Result(result.status(), text(), result.err());
    }
}
