package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BudgetTest {
    private final Budget budget = new Budget();

    private static void assertLimit(Executable tooMuch) {
        assertTrue(assertThrows(HclException.class, tooMuch).isLimit());
    }

    @Test
    void stepsEndAtTheLimit() {
        budget.steps(4_999_999);
        assertDoesNotThrow(budget::step);

        assertLimit(budget::step);
    }

    @Test
    void charactersEndAtTheLimit() {
        assertDoesNotThrow(() -> budget.write(32 << 20));

        assertLimit(() -> budget.write(1));
    }

    @Test
    void depthEndsAtTheLimitUntilALevelIsLeft() {
        for (int i = 0; i < Budget.DEEPEST; i++) {
            budget.enter();
        }
        assertLimit(budget::enter);
        budget.leave();
        budget.leave();

        assertDoesNotThrow(budget::enter);
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '|',
            value = {
                "[#] | 1",
                "(#) | 1",
                "{a=#} | 1",
                "#.a | text",
                "#[0] | words",
                "\"${#}\" | 1",
                "\"${\"x\"}${#}\" | 1",
            })
    void whatIsNestedTooDeepIsRejected(String form, String innermost) {
        String source = HclCase.nested(form, innermost, 260);

        assertEquals("limit", HclCase.outcome(() -> HclCase.expression(source)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"[1]", "(1)", "{a = 1}", "-1", "\"${1}x\"", "[1][0]", "{a = 1}.a", "<<E\na\nE\n"})
    void levelsAreLeftWhenAPartEnds(String part) {
        String source = "[" + (part + ",").repeat(260) + "]";

        assertEquals(260, HclCase.expression(source).size());
    }

    @Test
    void textOfTemplatesCountsAgainstTheBudget() {
        HclExpressions expressions = new HclExpressions(Map.of());
        expressions.conversions().budget().write((32 << 20) - 3);
        expressions.template("${1}23");

        assertLimit(() -> expressions.template("${1}2"));
    }

    @Test
    void evaluationTakesSteps() {
        HclExpressions expressions = new HclExpressions(Map.of());
        expressions.conversions().budget().steps(4_999_996);
        expressions.expression("[1, 2]");

        assertLimit(() -> expressions.expression("[1]"));
    }

    @Test
    void aTemplateWithoutInterpolationsTakesAStep() {
        HclExpressions expressions = new HclExpressions(Map.of());
        expressions.conversions().budget().steps(4_999_999);
        expressions.template("a");

        assertLimit(() -> expressions.template("a"));
    }
}
