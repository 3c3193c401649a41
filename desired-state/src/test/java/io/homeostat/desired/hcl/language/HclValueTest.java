package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HclValueTest {
    private static final HclValue ONE = HclValue.count(1);
    private static final HclValue TEXT = HclValue.of("a");

    private static HclValue value(String expression) {
        return HclCase.expression(expression);
    }

    @Test
    void textIsNormalized() {
        assertEquals("\u00E9", HclValue.of("e\u0301").text());
        assertEquals(
                List.of("\u00E9"),
                List.copyOf(HclValue.object(Map.of("e\u0301", ONE)).entries().keySet()));
        HclValue map = Objects.requireNonNull(HclValue.map(Map.of("e\u0301", ONE)));
        assertEquals(List.of("\u00E9"), List.copyOf(map.entries().keySet()));
    }

    @Test
    void aBoolIsTrueOrFalse() {
        assertTrue(HclValue.of(true).isTrue());
        assertFalse(HclValue.of(false).isTrue());
    }

    @Test
    void aCollectionHasElementsOfOneType() {
        assertEquals("list(number)[1, 1]", HclCase.notation(Objects.requireNonNull(HclValue.list(List.of(ONE, ONE)))));
        assertEquals(
                "list(number)[null(number), 1]",
                HclCase.notation(Objects.requireNonNull(HclValue.list(List.of(HclValue.NULL, ONE)))));
        assertEquals(
                "list(number)[1, null(number)]",
                HclCase.notation(Objects.requireNonNull(HclValue.list(List.of(ONE, HclValue.NULL)))));
        assertEquals("list(any)[]", HclCase.notation(Objects.requireNonNull(HclValue.list(List.of()))));
        assertEquals("map(number){a=1}", HclCase.notation(Objects.requireNonNull(HclValue.map(Map.of("a", ONE)))));
        assertNull(HclValue.list(List.of(ONE, TEXT)));
        assertNull(HclValue.map(Map.of("a", ONE, "b", TEXT)));
        assertNull(HclValue.set(List.of(ONE, TEXT), new Budget()));
    }

    @Test
    void anEmptyCollectionHasItsType() {
        assertEquals("list(string)[]", HclCase.notation(HclValue.empty(new ListOf(Primitive.STRING))));
        assertEquals("set(string)[]", HclCase.notation(HclValue.empty(new SetOf(Primitive.STRING))));
        assertEquals("map(string){}", HclCase.notation(HclValue.empty(new MapOf(Primitive.STRING))));
    }

    @ParameterizedTest
    @CsvSource({
        "1, true, true",
        "null, true, true",
        "later, false, false",
        "anything, false, false",
        "'[1, later]', true, false",
        "'[1, [2]]', true, true",
        "'{ a = { b = later } }', true, false",
        "'{ a = 1 }', true, true",
    })
    void aValueIsWhollyKnownWhenAllItsPartsAre(String expression, boolean known, boolean wholly) {
        assertEquals(known, value(expression).isKnown());
        assertEquals(wholly, value(expression).isWhollyKnown());
    }

    @ParameterizedTest
    @CsvSource({
        "1, false, false",
        "text, false, false",
        "null, false, false",
        "words, true, true",
        "pair, true, true",
        "tags, true, true",
        "ports, false, true",
        "settings, false, true",
        "laterWords, true, true",
    })
    void listsTuplesAndSetsAreSequences(String expression, boolean sequence, boolean canIterate) {
        assertEquals(sequence, value(expression).isSequence());
        assertEquals(canIterate, value(expression).canIterate());
    }

    @ParameterizedTest
    @CsvSource({"words, 2", "emptyWords, 0", "pair, 2", "laterPair, 2", "tags, 2", "ports, 1", "settings, 3"})
    void aCollectionHasASize(String expression, int size) {
        assertEquals(size, value(expression).size());
    }

    @Test
    void elementsOfAMapStandInTheOrderOfKeys() {
        assertEquals(
                List.of("\"a\"", "1"),
                value("{ b = 1, a = \"a\" }").elements().stream()
                        .map(HclCase::notation)
                        .toList());
        assertEquals(
                List.of("80"),
                value("ports").elements().stream().map(HclCase::notation).toList());
    }

    @ParameterizedTest
    @ValueSource(strings = {"null", "noText", "later", "anything"})
    void aValueThatIsNullOrUnknownHasNoContent(String expression) {
        HclValue value = value(expression);

        assertThrows(HclException.class, value::text);
        assertThrows(HclException.class, value::number);
        assertThrows(HclException.class, value::isTrue);
        assertThrows(HclException.class, value::entries);
        assertEquals(expression.startsWith("n"), value.isNull());
    }
}
