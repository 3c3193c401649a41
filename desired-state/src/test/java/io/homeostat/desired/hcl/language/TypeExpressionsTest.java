package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class TypeExpressionsTest {
    static Stream<HclCase> types() {
        return HclCase.read("types.txt");
    }

    @ParameterizedTest
    @MethodSource("types")
    void aTypeIsReadFromItsExpression(HclCase each) {
        assertEquals(
                each.outcome(),
                HclCase.text(() -> new HclExpressions(HclCase.VARIABLES)
                        .type(each.source())
                        .expression()));
    }
}
