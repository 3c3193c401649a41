package io.homeostat.desired.hcl.language;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.hcl.language.HclType.Primitive;
import io.homeostat.desired.hcl.language.HclType.SetOf;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class EqualityTest {
    static Stream<HclCase> pairs() {
        return HclCase.read("equality.txt");
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void twoValuesAreEqualWhenTypesAndPartsAre(HclCase each) {
        HclValue one = HclCase.expression(each.parts().getFirst());
        HclValue other = HclCase.expression(each.parts().getLast());

        assertEquals(each.outcome(), HclCase.notation(Equality.of(one, other)));
        assertEquals(each.outcome().equals("true"), Equality.isTrue(one, other));
    }

    @Test
    void typesAreEqualAsValues() {
        HclValue text = HclValue.of(new SetOf(Primitive.STRING));

        assertEquals(HclValue.TRUE, Equality.of(text, HclValue.of(new SetOf(Primitive.STRING))));
        assertEquals(HclValue.FALSE, Equality.of(text, HclValue.of(new SetOf(Primitive.NUMBER))));
    }

    @Test
    void mapsAreEqualWhenTheirKeysAndElementsAre() {
        HclValue map = map("a", "b");

        assertEquals(HclValue.TRUE, Equality.of(map, map("a", "b")));
        assertEquals(HclValue.FALSE, Equality.of(map, map("a", "c")));
        assertEquals(HclValue.FALSE, Equality.of(map, map("b", "b")));
    }

    @Test
    void anOpenCollectionDiffersOnlyFromOtherKindsOfCollections() {
        HclValue open = Objects.requireNonNull(HclValue.list(List.of(HclValue.DYNAMIC)));

        assertEquals(HclValue.unknown(Primitive.BOOL), Equality.of(open, HclCase.expression("words")));
        assertEquals(HclValue.FALSE, Equality.of(open, HclCase.expression("tags")));
        assertEquals(HclValue.FALSE, Equality.of(open, HclCase.expression("[1]")));
    }

    private static HclValue map(String key, String value) {
        return Objects.requireNonNull(HclValue.map(Map.of(key, HclValue.of(value))));
    }
}
