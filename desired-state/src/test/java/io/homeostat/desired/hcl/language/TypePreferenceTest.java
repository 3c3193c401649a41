package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class TypePreferenceTest {
    private final HclExpressions expressions = new HclExpressions(HclCase.VARIABLES);

    static Stream<HclCase> preferences() {
        return HclCase.read("preferences.txt");
    }

    @ParameterizedTest
    @MethodSource("preferences")
    void theMoreGeneralTypeIsPreferred(HclCase each) {
        int order = TypePreference.compare(
                expressions.type(each.parts().getFirst()),
                expressions.type(each.parts().getLast()));

        assertEquals(each.outcome(), order < 0 ? "<" : order > 0 ? ">" : "=");
    }
}
