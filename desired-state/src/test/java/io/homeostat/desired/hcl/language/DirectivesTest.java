package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DirectivesTest {
    static Stream<HclCase> templates() {
        return HclCase.read("directives.txt");
    }

    @ParameterizedTest
    @MethodSource("templates")
    void aDirectiveChoosesOrRepeatsText(HclCase each) {
        assertEquals(
                each.outcome(), HclCase.outcome(() -> new HclExpressions(HclCase.VARIABLES).template(each.source())));
    }
}
