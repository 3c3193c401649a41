package io.homeostat.desired.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSetMultimap;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class DependencyCyclesTest {
    /** A walk from each workload along all that it depends on would take minutes, and one by recursion would end the stack. */
    private static final int MANY = 100_000;

    @Test
    void aWorkloadMayDependOnItselfAndOthersDependOnIt() {
        DependencyCycles cycles = cycles("a a", "b a", "a c");

        assertEquals(ids("a"), cycles.through(id("a")));
        assertEquals(List.of(), cycles.through(id("b")));
        assertFalse(cycles.contains(id("b")));
        assertFalse(cycles.contains(id("c")));
    }

    @Test
    void eachHasItsOwnWayRoundTheShortestFirst() {
        DependencyCycles cycles = cycles("a b", "b c", "c a", "b d", "d b", "e a");

        assertEquals(ids("a", "b", "c"), cycles.through(id("a")));
        assertEquals(ids("d", "b"), cycles.through(id("d")));
        assertEquals(ids("c", "a", "b"), cycles.through(id("c")));
        assertEquals(List.of(id("a"), id("b"), id("c"), id("d")), List.copyOf(cycles.members()));
    }

    @Test
    void twoThatMeetWithoutAWayBackAreNoCycle() {
        assertTrue(cycles("a b", "a c", "b d", "c d").members().isEmpty());
    }

    @Test
    void aLongChainIsWalkedOnce() {
        assertTrue(new DependencyCycles(chain().build()).members().isEmpty());
    }

    @Test
    void aLongCycleIsWalkedOnceAndSharedByAllThatAreInIt() {
        DependencyCycles cycles =
                new DependencyCycles(chain().put(number(MANY - 1), number(0)).build());

        assertEquals(MANY, cycles.members().size());
        for (WorkloadId id : cycles.members()) {
            assertEquals(MANY, cycles.through(id).size());
            assertEquals(id, cycles.through(id).getFirst());
        }
    }

    @Test
    void ofALongCycleBothEndsAreNamed() {
        DependencyCycles cycles =
                new DependencyCycles(chain().put(number(MANY - 1), number(0)).build());

        String words = Dependencies.words(number(0), cycles.through(number(0)));
        assertTrue(words.startsWith("process/w0 -> process/w1 -> "), words);
        assertTrue(words.contains("process/w4 -> ... 99990 more ... -> process/w99995"), words);
        assertTrue(words.endsWith("process/w99999 -> process/w0"), words);
    }

    /** All of them together would have the square of their number. */
    @Test
    void ofManyLongCyclesThatMeetOnlySomeAreLookedFor() {
        int many = 5_000;
        ImmutableSetMultimap.Builder<WorkloadId, WorkloadId> needs = ImmutableSetMultimap.builder();
        for (int i = 1; i < many; i++) {
            needs.put(number(i - 1), number(i));
            needs.put(number(many - 1), id("s" + i)).put(id("s" + i), number(0));
        }

        DependencyCycles cycles = new DependencyCycles(needs.build());

        assertEquals(2 * many - 1, cycles.members().size());
        Set<WorkloadId> beginnings = cycles.members().stream()
                .map(id -> cycles.through(id).getFirst())
                .collect(Collectors.toSet());
        assertTrue(beginnings.size() > many && beginnings.size() < many + 100, () -> "" + beginnings.size());
        String words = Dependencies.words(id("s4999"), cycles.through(id("s4999")));
        assertTrue(words.startsWith("process/s4999 -> ... -> process/w0 -> process/w1 -> "), words);
        assertTrue(words.endsWith(" -> process/w0"), words);
    }

    @Test
    void eachThatDependsOnTheSameOneAndItOnThemHasItsOwnCycle() {
        ImmutableSetMultimap.Builder<WorkloadId, WorkloadId> needs = ImmutableSetMultimap.builder();
        for (int i = 1; i < MANY; i++) {
            needs.put(number(i), number(0)).put(number(0), number(i));
        }

        DependencyCycles cycles = new DependencyCycles(needs.build());

        for (WorkloadId id : cycles.members()) {
            assertEquals(2, cycles.through(id).size());
            assertEquals(id, cycles.through(id).getFirst());
        }
    }

    private static ImmutableSetMultimap.Builder<WorkloadId, WorkloadId> chain() {
        ImmutableSetMultimap.Builder<WorkloadId, WorkloadId> needs = ImmutableSetMultimap.builder();
        IntStream.range(1, MANY).forEach(one -> needs.put(number(one - 1), number(one)));
        return needs;
    }

    private static DependencyCycles cycles(String... needs) {
        ImmutableSetMultimap.Builder<WorkloadId, WorkloadId> all = ImmutableSetMultimap.builder();
        for (String need : needs) {
            all.put(id(need.substring(0, 1)), id(need.substring(2)));
        }
        return new DependencyCycles(all.build());
    }

    private static List<WorkloadId> ids(String... names) {
        return List.of(names).stream().map(DependencyCyclesTest::id).toList();
    }

    private static WorkloadId number(int number) {
        return id("w" + number);
    }

    private static WorkloadId id(String name) {
        return WorkloadId.process(name);
    }
}
