package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class LiteralsTest {
    static Stream<HclCase> literals() {
        return HclCase.read("literals.txt");
    }

    @ParameterizedTest
    @MethodSource("literals")
    void aLiteralHasItsValue(HclCase each) {
        assertEquals(each.outcome(), HclCase.outcome(() -> HclCase.expression(each.source())));
    }
}
