package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.MapOf;
import io.homeostat.desired.hcl.language.HclType.ObjectOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import io.homeostat.desired.hcl.language.HclType.Special;
import io.homeostat.desired.hcl.language.HclType.TupleOf;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HclTypeTest {
    private static HclType type(String expression) {
        return new HclExpressions(Map.of()).type(expression);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "any | true",
                "string | false",
                "list(any) | true",
                "map(list(any)) | true",
                "set(string) | false",
                "tuple([]) | false",
                "tuple([string, any]) | true",
                "tuple([string]) | false",
                "object({a = string, b = any}) | true",
                "object({a = string}) | false",
            })
    void aTypeIsOpenWhenAPartOfItIsAny(String expression, boolean open) {
        assertEquals(open, type(expression).hasAny());
    }

    @Test
    void theTypeOfTypesIsNotOpen() {
        assertEquals(List.of(false, "type"), List.of(Special.TYPE.hasAny(), Special.TYPE.expression()));
    }

    @Test
    void aCollectionKeepsItsKindWithOtherElements() {
        assertEquals(new ListOf(Primitive.BOOL), new ListOf(Primitive.STRING).of(Primitive.BOOL));
        assertEquals(new SetOf(Primitive.BOOL), new SetOf(Primitive.STRING).of(Primitive.BOOL));
        assertEquals(new MapOf(Primitive.BOOL), new MapOf(Primitive.STRING).of(Primitive.BOOL));
    }

    @Test
    void objectTypesAreEqualWhateverTheOrderOfTheirAttributes() {
        assertEquals(type("object({a = string, b = bool})"), type("object({b = bool, a = string})"));
        assertNotEquals(type("object({a = string})"), type("object({a = bool})"));
    }

    @Test
    void partsOfATypeCantBeChanged() {
        Map<String, HclType> attributes = new ObjectOf(Map.of("a", Primitive.BOOL)).attributes();
        List<HclType> elements = new TupleOf(List.of(Primitive.BOOL)).elements();

        assertThrows(UnsupportedOperationException.class, () -> attributes.put("b", Primitive.BOOL));
        assertThrows(UnsupportedOperationException.class, () -> elements.add(Primitive.BOOL));
    }

    @Test
    void textIsOrderedByCodePoints() {
        List<String> sorted = List.of("", "A", "a", "ab", "b", "\u00E9", "\uFFFD", "\uD83D\uDE00", "\uD83D\uDE01");

        assertEquals(
                sorted, sorted.reversed().stream().sorted(HclType.TEXT_ORDER).toList());
        assertEquals(sorted, sorted.stream().sorted(HclType.TEXT_ORDER).toList());
        assertEquals(
                List.of(0, 0, 0),
                Stream.of("", "a", "\uD83D\uDE00")
                        .map(each -> HclType.TEXT_ORDER.compare(each, each))
                        .toList());
    }
}
