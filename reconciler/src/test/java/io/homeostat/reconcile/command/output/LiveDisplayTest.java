package io.homeostat.reconcile.command.output;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.output.ProgressDisplay.LiveDisplay;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Facts;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LiveDisplayTest {
    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final WorkloadId A = WorkloadId.process("a");

    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private final PrintStream terminal = new PrintStream(written, true, StandardCharsets.UTF_8);
    private final Console console = new Console(terminal, terminal, OutputFormat.TEXT, new Ansi(false));

    @Test
    void aLineIsDrawnOverAndGoesWhenItsWorkloadIsDone() {
        try (LiveDisplay display = new LiveDisplay(console, new TerminalSize(24, 80), 9)) {
            display.under(A, "launching");
            await().atMost(DEADLINE).until(() -> screen().equals(List.of("process/a  launching")));
            display.download(A).bytes(1536, 3072);
            await().atMost(DEADLINE).until(() -> screen().equals(List.of("process/a  downloading 1.5 KiB of 3.0 KiB")));
            WorkloadPlan plan = new WorkloadPlan(
                    A, Action.INSTALL, Reason.NOT_INSTALLED, "", ImmutableList.of(), null, new Facts("7"));
            display.result(new WorkloadResult(A, WorkloadResult.Kind.CONVERGED, plan, ""));
            assertEquals(List.of("process/a  installed 7"), screen());
        }
        assertEquals(List.of("process/a  installed 7"), screen());
    }

    @Test
    void moreThanFitsIsCounted() {
        try (LiveDisplay display = new LiveDisplay(console, new TerminalSize(6, 30), 10)) {
            for (int i = 0; i < 9; i++) {
                display.under(WorkloadId.process("p" + i), "waiting for something that takes long");
            }
            await().atMost(DEADLINE).until(() -> screen().contains("... and 6 more"));
            assertEquals(4, screen().size());
            assertTrue(screen().stream().allMatch(line -> line.length() < 30), screen().toString());
        }
        assertTrue(screen().isEmpty(), screen().toString());
    }

    @Test
    void whatAWorkloadSaysCanNotMoveTheCursor() {
        try (LiveDisplay display = new LiveDisplay(console, new TerminalSize(24, 80), 9)) {
            display.under(A, "failed: \u001b[2J\nmore");
            await().atMost(DEADLINE).until(() -> screen().equals(List.of("process/a  failed: ?[2J more")));
        }
        assertFalse(written.toString(StandardCharsets.UTF_8).contains("\u001b[2J"));
    }

    /** What a terminal shows after what was written: knows lines, "up N" and "erase below". */
    private List<String> screen() {
        List<String> lines = new ArrayList<>();
        String text = written.toString(StandardCharsets.UTF_8);
        int at = 0;
        StringBuilder line = new StringBuilder();
        while (at < text.length()) {
            if (text.startsWith("\u001b[J", at)) {
                at += 3;
            } else if (text.charAt(at) == '\u001b') {
                int end = text.indexOf('A', at);
                int up = Integer.parseInt(text.substring(at + 2, end));
                for (int i = 0; i < up; i++) {
                    lines.removeLast();
                }
                at = end + 1;
            } else {
                char c = text.charAt(at++);
                if (c == '\n') {
                    lines.add(line.toString());
                    line.setLength(0);
                } else if (c != '\r') {
                    line.append(c);
                }
            }
        }
        return lines;
    }
}
