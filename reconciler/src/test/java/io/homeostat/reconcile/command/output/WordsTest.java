package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Small things that people read. */
class WordsTest {
    @Test
    void bytesHaveTheUnitThatKeepsThemShort() {
        assertEquals("0 B", Bytes.words(0));
        assertEquals("1023 B", Bytes.words(1023));
        assertEquals("1.0 KiB", Bytes.words(1024));
        assertEquals("12.5 MiB", Bytes.words(12_800 * 1024));
        assertEquals("4.0 GiB", Bytes.words(4L << 30));
        assertEquals("2048.0 TiB", Bytes.words(2L << 50));
    }

    @Test
    void spansHaveAtMostTwoUnits() {
        assertEquals("0s", Spans.words(Duration.ofSeconds(-5)));
        assertEquals("59s", Spans.words(Duration.ofSeconds(59)));
        assertEquals("1m0s", Spans.words(Duration.ofSeconds(60)));
        assertEquals("59m59s", Spans.words(Duration.ofSeconds(3599)));
        assertEquals("1h0m", Spans.words(Duration.ofHours(1)));
        assertEquals("3d4h", Spans.words(Duration.ofHours(76)));
    }

    @Test
    void aTerminalThatDoesNotTellItsSizeHasTheUsualOne() {
        assertEquals(new TerminalSize(50, 132), TerminalSize.parse("50 132\n"));
        assertEquals(new TerminalSize(24, 80), TerminalSize.parse("0 0\n"));
        assertEquals(new TerminalSize(24, 80), TerminalSize.parse(""));
        assertEquals(new TerminalSize(24, 80), TerminalSize.parse("what?"));
    }

    @Test
    void tablesAlignTheirColumns() {
        Table table = new Table("A", "LONGER", "");
        table.row("wide cell", "1", "and the rest");
        table.row("x", "2", "");
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        table.print(new PrintStream(bytes, true, StandardCharsets.UTF_8), new Ansi(false));
        assertEquals("""
                A          LONGER
                wide cell  1       and the rest
                x          2
                """, bytes.toString(StandardCharsets.UTF_8));
    }
}
