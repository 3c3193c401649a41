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
        assertEquals("0 B", Text.bytes(0));
        assertEquals("1023 B", Text.bytes(1023));
        assertEquals("1.0 KiB", Text.bytes(1024));
        assertEquals("12.5 MiB", Text.bytes(12_800 * 1024));
        assertEquals("4.0 GiB", Text.bytes(4L << 30));
        assertEquals("2048.0 TiB", Text.bytes(2L << 50));
    }

    @Test
    void spansHaveAtMostTwoUnits() {
        assertEquals("0s", Text.duration(Duration.ofSeconds(-5)));
        assertEquals("59s", Text.duration(Duration.ofSeconds(59)));
        assertEquals("1m0s", Text.duration(Duration.ofSeconds(60)));
        assertEquals("59m59s", Text.duration(Duration.ofSeconds(3599)));
        assertEquals("1h0m", Text.duration(Duration.ofHours(1)));
        assertEquals("3d4h", Text.duration(Duration.ofHours(76)));
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
