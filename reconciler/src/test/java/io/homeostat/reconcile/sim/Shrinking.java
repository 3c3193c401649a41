package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Makes a failing history small: delta debugging on its events and on the faults that struck, for as long as either gives. A
 * smaller history counts when it breaks the same invariant.
 */
final class Shrinking {
    /** Far more than it takes; a number of histories, as a slow machine is no reason to show people a longer one. */
    private static final int MOST = 500;

    private int played;
    private Failure smallest;

    Shrinking(Failure failure) {
        this.smallest = failure;
    }

    Failure result() {
        int before;
        do {
            before = size();
            shrink(failure -> failure.fate().moments(), this::withMoments);
            shrink(failure -> failure.faults().asList(), this::withFaults);
        } while (size() < before && !isEnough());
        return smallest;
    }

    /** Small is better than smallest. */
    private boolean isEnough() {
        return played > MOST;
    }

    private int size() {
        return smallest.fate().moments().size() + smallest.faults().size();
    }

    private Optional<Failure> withMoments(List<Scenario.Moment> moments) {
        return Failure.of(smallest.fate().withMoments(moments), smallest.agent(), smallest.faults());
    }

    private Optional<Failure> withFaults(List<Fault.Point> faults) {
        return Failure.of(smallest.fate(), smallest.agent(), ImmutableSet.copyOf(faults));
    }

    /** Leaves out parts, half of all at first and single ones in the end. */
    private <T> void shrink(Function<Failure, ImmutableList<T>> parts, Function<List<T>, Optional<Failure>> play) {
        int size = Math.max(1, parts.apply(smallest).size() / 2);
        while (true) {
            boolean gave = false;
            int from = 0;
            while (from < parts.apply(smallest).size() && !isEnough()) {
                List<T> fewer = new ArrayList<>(parts.apply(smallest));
                fewer.subList(from, Math.min(from + size, fewer.size())).clear();
                if (stillFails(play.apply(fewer))) {
                    gave = true;
                } else {
                    from += size;
                }
            }
            if ((size == 1 && !gave) || isEnough()) {
                return;
            }
            size = Math.max(1, size / 2);
        }
    }

    private boolean stillFails(Optional<Failure> failure) {
        played++;
        boolean same = failure.filter(found ->
                        found.violation().invariant() == smallest.violation().invariant())
                .isPresent();
        if (same) {
            smallest = failure.get();
        }
        return same;
    }
}
