package io.homeostat.desired.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.state.StoredSet.Highest;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SequenceFloorTest {
    private static final ImmutableList<Highest> SEEN = ImmutableList.of(
            new Highest("a", 7, "seven"),
            new Highest("b", 9, "nine"),
            new Highest(SequenceFloor.UNSIGNED, 11, "eleven"));

    @Test
    void anOlderSetIsRefusedAndTold() {
        SequenceFloor floor = SequenceFloor.of(SEEN, ImmutableSet.of("a", "b"), true);

        assertEquals(9, floor.sequence());
        assertEquals(Optional.empty(), floor.refusal(set(10, "ten")));
        assertEquals(Optional.empty(), floor.refusal(set(9, "nine")));
        assertEquals(
                Optional.of("the set is an older one: its sequence is 8, and 9 was taken before;"
                        + " publish what is meant anew"),
                floor.refusal(set(8, "eight")));
        assertEquals(
                "the set is another one than that which was taken with the same sequence, 9",
                floor.refusal(set(9, "other")).orElseThrow().replaceFirst(";.*", ""));
    }

    @Test
    void aKeyThatIsNoLongerTrustedTakesItsSequenceWithIt() {
        ImmutableList<Highest> stolen =
                ImmutableList.of(new Highest("a", 7, "seven"), new Highest("stolen", 1L << 62, "evil"));

        assertEquals(
                1L << 62,
                SequenceFloor.of(stolen, ImmutableSet.of("a", "stolen"), true).sequence());
        assertEquals(7, SequenceFloor.of(stolen, ImmutableSet.of("a"), true).sequence());
    }

    @Test
    void unsignedSetsCountWhereTheyAreTaken() {
        assertEquals(11, SequenceFloor.of(SEEN, ImmutableSet.of("a"), false).sequence());
        assertEquals(7, SequenceFloor.of(SEEN, ImmutableSet.of("a"), true).sequence());
        assertEquals(
                0,
                SequenceFloor.of(ImmutableList.of(), ImmutableSet.of(), false).sequence());
    }

    @Test
    void aSetWithoutASequenceMayComeAtAnyTime() {
        assertEquals(
                Optional.empty(),
                SequenceFloor.of(SEEN, ImmutableSet.of(), false).refusal(set(0, "plain")));
    }

    private static PublishedSet set(long sequence, String digest) {
        return new PublishedSet(
                "default", sequence, Optional.empty(), ImmutableSortedMap.of(), ImmutableList.of(), digest);
    }
}
