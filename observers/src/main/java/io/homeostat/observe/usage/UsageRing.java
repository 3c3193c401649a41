package io.homeostat.observe.usage;

import com.google.common.collect.ImmutableList;
import java.util.ArrayDeque;
import java.util.Deque;

/** The newest samples of one workload that nobody has been told of, oldest first. */
final class UsageRing {
    private record Numbered(long number, Usage usage) {}

    private final Deque<Numbered> samples = new ArrayDeque<>();

    /** @param most that are kept, this one included */
    void add(long number, Usage usage, int most) {
        samples.add(new Numbered(number, usage));
        while (samples.size() > most) {
            samples.remove();
        }
    }

    boolean isEmpty() {
        return samples.isEmpty();
    }

    /** Number of the newest one of so many of the oldest. */
    long last(int most) {
        return most >= samples.size()
                ? samples.getLast().number()
                : samples.stream().skip(most - 1L).findFirst().orElseThrow().number();
    }

    ImmutableList<Usage> oldest(int most) {
        return samples.stream().limit(most).map(Numbered::usage).collect(ImmutableList.toImmutableList());
    }

    void dropUpTo(long number) {
        samples.removeIf(sample -> sample.number() <= number);
    }
}
