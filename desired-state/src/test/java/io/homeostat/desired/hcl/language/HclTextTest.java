package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.hcl.language.HclToken.Kind;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class HclTextTest {
    static Stream<Arguments> texts() {
        return Stream.of(
                Arguments.of("", List.of()),
                Arguments.of("ab", List.of("a", "b")),
                Arguments.of("e\u0301x", List.of("e\u0301", "x")),
                Arguments.of("\r\n\n", List.of("\r\n", "\n")),
                Arguments.of("a\uD83D\uDE00", List.of("a", "\uD83D\uDE00")),
                Arguments.of(
                        "\uD83D\uDC68\u200D\uD83D\uDC69\u200D\uD83D\uDC67",
                        List.of("\uD83D\uDC68\u200D\uD83D\uDC69\u200D\uD83D\uDC67")),
                // Indic conjuncts: one cluster since Unicode 15.1
                Arguments.of("\u0915\u094D\u0937", List.of("\u0915\u094D", "\u0937")),
                Arguments.of("\u0915\u094D\u200D\u0937x", List.of("\u0915\u094D\u200D", "\u0937", "x")),
                Arguments.of("\u0D15\u0D4D\u0D37", List.of("\u0D15\u0D4D", "\u0D37")),
                Arguments.of("\u0915\u0902", List.of("\u0915\u0902")),
                Arguments.of("\u0915\u094D\u0937\u094D\u0920", List.of("\u0915\u094D", "\u0937\u094D", "\u0920")));
    }

    @ParameterizedTest
    @MethodSource("texts")
    void aCharacterIsAGraphemeCluster(String text, List<String> characters) {
        assertEquals(characters, HclText.characters(text));
    }

    @ParameterizedTest
    @ValueSource(ints = {'\t', '\n', 0x0B, '\f', '\r', ' ', 0x85, 0xA0, 0x1680, 0x2003, 0x2028, 0x2029, 0x202F, 0x3000})
    void whiteSpaceIsThatOfUnicode(int point) {
        assertTrue(HclText.isSpace(point));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 8, 0x0E, 0x1C, 0x1F, 'a', 0x84, 0x86, 0x200B, 0xFEFF, 0x1F600})
    void otherCharactersAreNoWhiteSpace(int point) {
        assertFalse(HclText.isSpace(point));
    }

    @Test
    void whiteSpaceIsTrimmedAtEitherEnd() {
        String text = " \t\u3000a \uD83D\uDE00\u00A0\n";

        assertEquals("a \uD83D\uDE00\u00A0\n", HclText.trimLeft(text));
        assertEquals(" \t\u3000a \uD83D\uDE00", HclText.trimRight(text));
        assertEquals("a \uD83D\uDE00", HclText.trim(text));
        assertEquals("", HclText.trim(" \n "));
        assertEquals("", HclText.trim(""));
        assertEquals("a", HclText.trim("a"));
    }

    private static String unescaped(Kind kind, String text) {
        return HclText.unescaped(new HclToken(kind, text, 10));
    }

    @ParameterizedTest
    @CsvSource({
        "'$${', '${'",
        "'%%{', '%{'",
        "'$${~', '${~'",
        "'a$${b', 'a${b'",
        "'$$', '$$'",
        "'$%{', '$%{'",
        "'%$${', '%${'",
        "'$$$${', '$$${'",
    })
    void aDoubledSignBeforeABraceIsOne(String text, String unescaped) {
        assertEquals(unescaped, unescaped(Kind.TEXT, text));
        assertEquals(unescaped, unescaped(Kind.QUOTED_TEXT, text));
    }

    @Test
    void aBackslashEscapesWithinQuotesOnly() {
        String text = "a\\n\\r\\t\\\"\\\\\\u00e9\\U0001F600z";

        assertEquals("a\n\r\t\"\\\u00E9\uD83D\uDE00z", unescaped(Kind.QUOTED_TEXT, text));
        assertEquals(text, unescaped(Kind.TEXT, text));
    }

    @ParameterizedTest
    @CsvSource({
        "\\x, 10",
        "ab\\x, 12",
        "\\n\\, 12",
        "'a\\''', 11",
        "\\u12, 10",
        "\\u123, 10",
        "\\u123g, 10",
        "\\u, 10",
        "\\ud800, 10",
        "\\udfff, 10",
        "\\U0001F60, 10",
        "\\U0000D800, 10",
        "\\U00110000, 10",
        "\\UFFFFFFFF, 10",
    })
    void anEscapeThatMeansNothingIsAMistakeAtTheBackslash(String text, int character) {
        HclException e = assertThrows(HclException.class, () -> unescaped(Kind.QUOTED_TEXT, text));

        assertEquals(character, e.character());
    }

    @ParameterizedTest
    @CsvSource({"\\u0041, A", "\\uD7FF, \uD7FF", "\\uE000, \uE000", "\\U0010FFFF, \uDBFF\uDFFF", "\\U00000041b, Ab"})
    void anEscapeMayNameAnyCharacter(String text, String character) {
        assertEquals(character, unescaped(Kind.QUOTED_TEXT, text));
    }
}
