package io.homeostat.e2e.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What counts as grown. */
final class GrowthTest {
    private static final long MIB = 1024 * 1024;
    private static final int LOOKS = 16;

    /** Looks at an agent whose anonymous memory, descriptors and load are these by the number of the look. */
    private static List<Footprint> looks(
            IntToLongFunction anonymous, IntToLongFunction descriptors, IntToLongFunction load) {
        return IntStream.range(0, LOOKS)
                .mapToObj(look -> new Footprint(
                        Duration.ofSeconds(look),
                        100 * MIB,
                        anonymous.applyAsLong(look),
                        20 * MIB,
                        descriptors.applyAsLong(look),
                        30,
                        MIB,
                        MIB,
                        100,
                        look,
                        load.applyAsLong(look)))
                .toList();
    }

    @Test
    void whatOnlyWaversAndWhatGrowsInTheFirstQuarterIsFlat() {
        List<Footprint> wavering = looks(
                look -> (look < 4 ? 30 + look : 60 + look % 2) * MIB, look -> 100 + look % 5, look -> 200 + look % 3);

        assertEquals(List.of(), Growth.found(wavering, 0));
    }

    @Test
    void whatGrowsIsToldByItsName() {
        List<String> grown = Growth.found(looks(look -> (50 + look * 2) * MIB, look -> 100, look -> 100), 0);

        assertEquals(1, grown.size(), grown::toString);
        assertTrue(grown.getFirst().startsWith("anon has grown from "), grown::toString);
    }

    @Test
    void soDoesTheProcessorForAsMuchThatHappens() {
        List<String> grown = Growth.found(looks(look -> MIB, look -> 100, look -> 100 + look * 30), 0);

        assertEquals(1, grown.size(), grown::toString);
        assertTrue(grown.getFirst().startsWith("load has grown from "), grown::toString);
    }

    @Test
    void ofManyWorkloadsMoreMayBeOnTheirWay() {
        List<Footprint> looks = looks(look -> MIB, look -> look < 8 ? 2000 : 2030, look -> 100);

        assertEquals(1, Growth.found(looks, 0).size());
        assertEquals(List.of(), Growth.found(looks, 2000));
    }

    @Test
    void ofManyWorkloadsMoreIsRemembered() {
        List<Footprint> looks = IntStream.range(0, LOOKS)
                .mapToObj(look -> new Footprint(
                        Duration.ofSeconds(look), MIB, MIB, MIB, 30, 30, look < 8 ? MIB : 5 * MIB, MIB, 100, look, 100))
                .toList();

        assertEquals(1, Growth.found(looks, 0).size());
        assertEquals(List.of(), Growth.found(looks, 1000));
    }

    @Test
    void fewLooksSayNothing() {
        List<Footprint> looks = looks(look -> MIB, look -> 100, look -> 100);

        assertEquals(List.of("only 3 looks, which say nothing"), Growth.found(looks.subList(0, 3), 0));
    }
}
