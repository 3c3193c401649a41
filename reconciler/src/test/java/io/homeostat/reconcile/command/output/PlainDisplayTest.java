package io.homeostat.reconcile.command.output;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.output.ProgressDisplay.Plain;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Where no terminal can be drawn on. */
class PlainDisplayTest {
    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final WorkloadId A = WorkloadId.process("a");

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @Test
    void whatTakesLongIsSaidAgainAndAgainAndNotAmongTheResults() {
        try (Plain display = display(OutputFormat.TEXT)) {
            // Nothing is said between the two, however long they take.
            synchronized (display) {
                display.under(A, "launching");
                display.download(WorkloadId.process("b")).bytes(1536, 3072);
            }
            await().atMost(DEADLINE).until(() -> said().lines().count() > 1);
        }
        assertEquals(
                "homeostat: apply: after 20s: process/a launching, process/b downloading 1.5 KiB of 3.0 KiB",
                said().lines().findFirst().orElseThrow());
        assertEquals("", out.toString(StandardCharsets.UTF_8));
    }

    @Test
    void noMoreThanAFewAreNamed() {
        try (Plain display = display(OutputFormat.JSON)) {
            for (int i = 0; i < 5; i++) {
                display.under(WorkloadId.process("p" + i), "launching");
            }
            await().atMost(DEADLINE).until(() -> said().contains("and 2 more\"}"));
        }
    }

    private Plain display(OutputFormat format) {
        long[] now = {0};
        return new Plain(
                new Console(
                        new PrintStream(out, true, StandardCharsets.UTF_8),
                        new PrintStream(err, true, StandardCharsets.UTF_8),
                        format,
                        new Ansi(false)),
                "apply",
                9,
                Duration.ofMillis(200),
                () -> {
                    long read = now[0];
                    now[0] += Duration.ofSeconds(20).toNanos();
                    return read;
                });
    }

    private String said() {
        return err.toString(StandardCharsets.UTF_8);
    }
}
