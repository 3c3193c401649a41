package io.homeostat.e2e.bench;

import io.homeostat.e2e.bench.Figure.Limit;
import java.util.List;

/** What was measured of one figure, in its unit; of ours, or of a peer's. */
record Samples(Figure figure, String subject, List<Double> values) {
    /** Who is measured against the goals. */
    static final String OURS = "homeostat";

    Samples {
        values = List.copyOf(values);
        for (double value : values) {
            if (!(value >= 0 && value < Double.POSITIVE_INFINITY)) {
                throw new IllegalArgumentException(value + " of '" + figure.title() + "' was measured wrongly");
            }
        }
    }

    double of(Statistic statistic) {
        return statistic.of(values);
    }

    boolean isOurs() {
        return subject.equals(OURS);
    }

    boolean keeps(Limit limit) {
        return of(limit.of()) <= limit.most();
    }

    /** Peers have no goals. */
    List<Limit> limits() {
        return isOurs() ? figure.limits() : List.of();
    }

    boolean breaksBound() {
        return limits().stream().anyMatch(limit -> limit.isBound() && !keeps(limit));
    }
}
