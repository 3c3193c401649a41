package io.homeostat.desired.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class VisibleTextTest {
    /** ESC, CR, DEL, CSI of eight bits, soft hyphen, line and paragraph separator, overrides and isolates of direction, BOM, a tag, half a pair. */
    @ParameterizedTest
    @ValueSource(ints = {0x1b, 0x0d, 0x7f, 0x9b, 0xad, 0x2028, 0x2029, 0x202e, 0x2066, 0x200f, 0xfeff, 0xe0041, 0xd800})
    void whatATerminalObeysOrDoesNotShowIsNotVisible(int codePoint) {
        assertFalse(VisibleText.isVisible(codePoint));
        assertEquals("a?b", VisibleText.lines("a" + Character.toString(codePoint) + "b"));
        assertEquals(codePoint == '\r' ? "a b" : "a?b", VisibleText.line("a" + Character.toString(codePoint) + "b"));
    }

    @Test
    void textsOfAllLanguagesStayWithTheirLines() {
        String text = "Größe\t\u05d0\u05d1 \u4e2d \ud83d\ude00\nnext";

        assertEquals(text, VisibleText.lines(text));
        assertTrue(VisibleText.isVisible(' '));
        assertEquals("Größe \u05d0\u05d1 \u4e2d \ud83d\ude00 next", VisibleText.line(text));
    }

    @Test
    void aTextIsCutBetweenCharacters() {
        assertEquals("12345", VisibleText.cut("12345", 5));
        assertEquals("12...", VisibleText.cut("123456", 5));
        assertEquals("1\ud83d\ude00...", VisibleText.cut("1\ud83d\ude00\ud83d\ude00\ud83d\ude00", 6));
        assertEquals("1...", VisibleText.cut("1\ud83d\ude00\ud83d\ude00\ud83d\ude00", 5));
    }
}
