package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class LoopsTest {
    static Stream<HclCase> loops() {
        return HclCase.read("loops.txt");
    }

    @ParameterizedTest
    @MethodSource("loops")
    void aLoopMakesAnElementOfEachElement(HclCase each) {
        assertEquals(each.outcome(), HclCase.outcome(() -> HclCase.expression(each.source())));
    }

    @ParameterizedTest
    @ValueSource(strings = {"[for x in []: #]", "{for x in []: x => #}"})
    void whatIsNestedTooDeepIsRejected(String form) {
        String source = HclCase.nested(form, "1", 260);

        assertEquals("limit", HclCase.outcome(() -> HclCase.expression(source)));
    }

    @Test
    void levelsAreLeftWhenAPartEnds() {
        String source = "[" + "[for x in [1]: x], {for x in [1]: x => 1},".repeat(130) + "]";

        assertEquals(260, HclCase.expression(source).size());
    }
}
