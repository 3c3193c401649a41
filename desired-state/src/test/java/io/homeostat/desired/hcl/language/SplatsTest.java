package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SplatsTest {
    static Stream<HclCase> splats() {
        return HclCase.read("splats.txt");
    }

    @ParameterizedTest
    @MethodSource("splats")
    void aSplatTakesTheSameOfEachElement(HclCase each) {
        assertEquals(each.outcome(), HclCase.outcome(() -> HclCase.expression(each.source())));
    }
}
