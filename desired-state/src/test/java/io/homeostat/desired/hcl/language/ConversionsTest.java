package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.homeostat.desired.hcl.language.HclType.Primitive;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ConversionsTest {
    private final HclExpressions expressions = new HclExpressions(HclCase.VARIABLES);

    static Stream<HclCase> conversions() {
        return HclCase.read("conversions.txt");
    }

    static Stream<HclCase> unifications() {
        return HclCase.read("unifications.txt");
    }

    @ParameterizedTest
    @MethodSource("conversions")
    void aValueIsConvertedToTheTypeOrRejected(HclCase each) {
        HclValue value = expressions.expression(each.parts().getFirst());
        HclType type = expressions.type(each.parts().getLast());

        assertEquals(
                each.outcome(), HclCase.outcome(() -> expressions.conversions().convert(value, type)));
    }

    @ParameterizedTest
    @MethodSource("unifications")
    void valuesGetTheOneTypeThatAllCanHave(HclCase each) {
        List<HclValue> values = expressions.expression(each.source()).elements();

        assertEquals(
                each.outcome(),
                HclCase.text(() -> expressions.unified(values).stream()
                        .map(HclCase::notation)
                        .collect(Collectors.joining(" "))));
    }

    @Test
    void aValueOfTheWantedTypeIsReturnedAsItIs() {
        HclValue value = HclValue.of("a");

        assertSame(value, expressions.conversions().convert(value, Primitive.STRING));
    }
}
