package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.hcl.language.HclType.ListOf;
import io.homeostat.desired.hcl.language.HclType.Primitive;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SetOrderTest {
    private final HclExpressions expressions = new HclExpressions(HclCase.VARIABLES);

    static Stream<HclCase> sets() {
        return HclCase.read("sets.txt");
    }

    private HclValue set(List<HclValue> elements) {
        return Objects.requireNonNullElse(expressions.set(elements), HclValue.DYNAMIC);
    }

    @ParameterizedTest
    @MethodSource("sets")
    void aSetHasEachElementOnceInOrder(HclCase each) {
        List<HclValue> elements = expressions.expression(each.source()).elements();

        assertEquals(each.outcome(), HclCase.notation(set(elements)));
    }

    /** By the literals that Go writes for text: what needs an escape there is sorted by the backslash. */
    @Test
    void textInCompoundElementsIsSortedAsAGoLiteral() {
        List<String> sorted = List.of(
                " ",
                "A",
                "\"",
                "\uDB80\uDC00",
                "\\",
                "\u0007",
                "\b",
                "\f",
                "\n",
                "\r",
                "\t",
                "\u00A0",
                "\u200B",
                "\u2028",
                "\u2029",
                "\uE000",
                "\u000B",
                "\u0001",
                "\u007F",
                "a",
                "é");
        List<HclValue> elements = sorted.stream()
                .map(each -> HclValue.tuple(List.of(HclValue.of(each))))
                .toList();

        assertEquals(
                sorted,
                set(elements.reversed()).elements().stream()
                        .map(each -> each.elements().getFirst().text())
                        .toList());
    }

    @Test
    void unknownElementsAreKeptApart() {
        HclValue unknown = HclValue.unknown(new ListOf(Primitive.STRING));

        assertEquals(
                "set(list(string))[?(list(string)), ?(list(string)), list(string)[\"a\", \"b\"]]",
                HclCase.notation(set(List.of(HclCase.expression("words"), unknown, unknown))));
    }

    @Test
    void aSetCountsAgainstTheBudget() {
        HclValue text = HclValue.of("x");
        Budget budget = new Budget();
        budget.write((32 << 20) - "'x'".length());
        HclValue.set(List.of(text), budget);

        assertTrue(assertThrows(HclException.class, () -> HclValue.set(List.of(text), budget))
                .isLimit());
    }
}
