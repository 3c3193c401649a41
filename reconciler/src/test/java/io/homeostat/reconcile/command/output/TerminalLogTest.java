package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TerminalLogTest {
    @ParameterizedTest
    @CsvSource({
        "a title\u001b]0;pwned\u0007., a title?]0;pwned?.",
        "up\u001b[2A\u001b[Kgone, up?[2A?[Kgone",
        "unterminated\u001b[31, unterminated?[31",
        "two\u001b\u001b[2J, two??[2J",
        "eight bits\u009b2J, eight bits?2J",
        "bidi\u202e and\u2028 lines, bidi? and? lines",
        "over\rwritten, over?written",
        "Größe \ud83d\ude00, Größe \ud83d\ude00",
    })
    void nothingIsObeyedByTheTerminal(String written, String shown) {
        assertEquals(shown, log(true, written.getBytes(StandardCharsets.UTF_8)));
        assertEquals(shown, log(false, written.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void coloursEndWithTheirLine() {
        byte[] written = bytes("\u001b[1;31mred\u001b[0m\nstill \u001b[38:5:9mred\nplain\r\nopen \u001b[8m");

        assertEquals(
                "\u001b[1;31mred\u001b[0m\u001b[0m\nstill \u001b[38:5:9mred\u001b[0m\nplain\nopen \u001b[8m\u001b[0m",
                log(true, written));
        assertEquals("?[1;31mred?[0m\nstill ?[38:5:9mred\nplain\nopen ?[8m", log(false, written));
    }

    @Test
    void whatIsNoUtf8IsReplaced() {
        assertEquals("a\ufffd2Jb\ufffd", log(true, new byte[] {'a', (byte) 0x9b, '2', 'J', 'b', (byte) 0xe2}));
    }

    @Test
    void whatIsNoLongerThanAColourIsNotHeldBackForEver() {
        String written = "\u001b[" + "1;".repeat(10_000) + "m";

        assertEquals("?" + written.substring(1), log(true, bytes(written)));
    }

    /** At once and byte by byte. */
    private static String log(boolean coloured, byte[] written) {
        String whole = log(coloured, written, written.length);
        assertEquals(whole, log(coloured, written, 1));
        return whole;
    }

    private static String log(boolean coloured, byte[] written, int step) {
        ByteArrayOutputStream terminal = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(terminal, false, StandardCharsets.UTF_8);
        try (TerminalLog log = new TerminalLog(out, coloured)) {
            for (int from = 0; from < written.length; from += step) {
                log.write(written, from, step);
            }
        }
        return terminal.toString(StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
