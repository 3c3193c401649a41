package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class FunctionsTest {
    static Stream<HclCase> calls() {
        return HclCase.read("functions.txt");
    }

    @ParameterizedTest
    @MethodSource("calls")
    void aFunctionHasItsResult(HclCase each) {
        assertEquals(each.outcome(), HclCase.outcome(() -> HclCase.expression(each.source())));
    }

    @ParameterizedTest
    @ValueSource(strings = {"upper(#)"})
    void whatIsNestedTooDeepIsRejected(String form) {
        String source = HclCase.nested(form, "1", 260);

        assertEquals("limit", HclCase.outcome(() -> HclCase.expression(source)));
    }

    @Test
    void levelsAreLeftWhenAPartEnds() {
        String source = "[" + "upper(1),".repeat(260) + "]";

        assertEquals(260, HclCase.expression(source).size());
    }

    @Test
    void textOfFunctionsCountsAgainstTheBudget() {
        HclExpressions expressions = new HclExpressions(Map.of("text", HclValue.of("x")));
        expressions.conversions().budget().write((32 << 20) - 2);
        expressions.expression("upper(text)");
        expressions.expression("reverse(text)");

        assertEquals("limit", HclCase.outcome(() -> expressions.expression("lower(1)")));
    }
}
