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
    private static final Duration PATIENCE = Duration.ofSeconds(60);

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

    /** Waits until a regular expression is found in what it has printed. */
    void awaitOutput(String expression) {
        Pattern wanted = Pattern.compile(expression);
        try {
            await().atMost(PATIENCE).until(() -> wanted.matcher(text()).find());
        } catch (ConditionTimeoutException e) {
            throw new AssertionError("has not printed " + expression + " but\n" + text(), e);
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
    }

    /** Ends it, unless it has ended. */
    Result interrupt() throws InterruptedException {
        thread.interrupt();
        try {
            Result result = ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            return new Result(result.status(), text(), result.err());
        } catch (ExecutionException | TimeoutException e) {
            throw new IllegalStateException(e);
        }
    }
}
