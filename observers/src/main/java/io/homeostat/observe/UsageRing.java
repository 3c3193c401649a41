package io.homeostat.observe;

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

    /** Number of the newest one. */
    long last() {
        return samples.getLast().number();
    }

    ImmutableList<Usage> all() {
        return samples.stream().map(Numbered::usage).collect(ImmutableList.toImmutableList());
    }

    void dropUpTo(long number) {
        samples.removeIf(sample -> sample.number() <= number);
    }
}
