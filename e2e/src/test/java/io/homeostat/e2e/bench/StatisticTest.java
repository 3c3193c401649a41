package io.homeostat.e2e.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

final class StatisticTest {
    @Test
    void aPercentileIsTheSmallestValueThatSoManyPercentAreNotAbove() {
        List<Double> hundred =
                DoubleStream.iterate(100, value -> value - 1).limit(100).boxed().toList();

        assertEquals(50, Statistic.P50.of(hundred));
        assertEquals(90, Statistic.P90.of(hundred));
        assertEquals(99, Statistic.P99.of(hundred));
        assertEquals(100, Statistic.MAX.of(hundred));
    }

    @Test
    void ofFewValuesP99IsTheGreatestAndP50TheMiddleOne() {
        List<Double> three = List.of(3.0, 1.0, 2.0);

        assertEquals(2, Statistic.P50.of(three));
        assertEquals(3, Statistic.P90.of(three));
        assertEquals(3, Statistic.P99.of(three));
        assertEquals(3, Statistic.MAX.of(three));
    }

    @Test
    void ofOneValueEachIsThatOne() {
        for (Statistic statistic : Statistic.values()) {
            assertEquals(7, statistic.of(List.of(7.0)));
        }
    }

    @Test
    void ofNothingThereIsNone() {
        assertThrows(IllegalArgumentException.class, () -> Statistic.P50.of(List.of()));
    }
}
