package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ReferencesTest {
    static Stream<HclCase> references() {
        return HclCase.read("references.txt");
    }

    @ParameterizedTest
    @MethodSource("references")
    void aReferenceHasTheValueItNames(HclCase each) {
        assertEquals(each.outcome(), HclCase.outcome(() -> HclCase.expression(each.source())));
    }
}
