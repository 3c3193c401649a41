package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class HeredocsTest {
    static Stream<HclCase> heredocs() {
        return HclCase.read("heredocs.txt");
    }

    @ParameterizedTest
    @MethodSource("heredocs")
    void aHeredocIsText(HclCase each) {
        assertEquals(each.outcome(), HclCase.outcome(() -> HclCase.expression(each.source())));
    }
}
