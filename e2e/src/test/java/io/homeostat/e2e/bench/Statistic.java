package io.homeostat.e2e.bench;

import java.util.List;

/** One number for many. Percentiles are by nearest rank: the smallest value that so many percent are not above. */
enum Statistic {
    P50(50),
    P90(90),
    P99(99),
    MAX(100);

    private static final double HUNDRED = 100;

    private final int percent;

    Statistic(int percent) {
        this.percent = percent;
    }

    double of(List<Double> values) {
        if (values.isEmpty()) {
            throw new IllegalArgumentException("nothing was measured");
        }
        List<Double> sorted = values.stream().sorted().toList();
        return sorted.get((int) Math.ceil(percent / HUNDRED * sorted.size()) - 1);
    }
}
