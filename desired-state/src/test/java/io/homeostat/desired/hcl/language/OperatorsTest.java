package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class OperatorsTest {
    static Stream<HclCase> expressions() {
        return HclCase.read("operators.txt");
    }

    @ParameterizedTest
    @MethodSource("expressions")
    void anOperatorHasItsResult(HclCase each) {
        assertEquals(each.outcome(), HclCase.outcome(() -> HclCase.expression(each.source())));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-#", "!#", "#+1", "#==1", "true ? 1 : #", "true ? # : 1"})
    void whatIsNestedTooDeepIsRejected(String form) {
        String source = HclCase.nested(form, "1", 260);

        assertEquals("limit", HclCase.outcome(() -> HclCase.expression(source)));
    }

    @Test
    void levelsAreLeftWhenAPartEnds() {
        String source = "[" + "1 + 1 + 1 == 3 ? -1 : 2,".repeat(260) + "]";

        assertEquals(260, HclCase.expression(source).size());
    }
}
