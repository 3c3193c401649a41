package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class CollectionsTest {
    static Stream<HclCase> collections() {
        return HclCase.read("collections.txt");
    }

    @ParameterizedTest
    @MethodSource("collections")
    void aListOrObjectHasItsElements(HclCase each) {
        assertEquals(each.outcome(), HclCase.outcome(() -> HclCase.expression(each.source())));
    }
}
