package io.homeostat.reconcile.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Maps;
import com.google.protobuf.ByteString;
import io.homeostat.desired.etcd.KeyValues.Entry;
import io.homeostat.desired.etcd.KeyValues.Listing;
import io.homeostat.desired.fleet.FleetKeys;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Texts that are small in the store may be large in memory. */
class FleetMirrorTest {
    private static final long MOST = 100_000;

    private final FleetKeys keys = new FleetKeys("/fleet");
    private final FleetMirror mirror = new FleetMirror(keys, set -> ImmutableList.of(), MOST);
    private long revision;

    private Entry report(String machine, int workloads) {
        String list = "{},".repeat(workloads) + "{}";
        revision++;
        return new Entry(
                keys.reports() + machine,
                ByteString.copyFromUtf8("{\"at\":\"2026-11-01T12:00:00Z\",\"workloads\":[" + list + "]}"),
                revision,
                revision);
    }

    private static Listing listing(long revision, ImmutableSortedMap<String, Long> leftOut, Entry... entries) {
        return new Listing(
                revision, ImmutableSortedMap.copyOf(Maps.uniqueIndex(List.of(entries), Entry::key)), leftOut);
    }

    private Set<String> heard() {
        return List.of("a", "b", "c", "d").stream()
                .filter(machine -> mirror.report(machine).isPresent())
                .collect(Collectors.toSet());
    }

    @Test
    void whoSaysMostIsLeftOutWhereAllIsTooMuch() {
        Entry most = report("b", 1500);
        Entry least = report("d", 10);

        mirror.replace(listing(revision, ImmutableSortedMap.of(), report("a", 200), most, report("c", 200), least));

        assertEquals(Set.of("a", "c", "d"), heard());
        assertEquals(Set.of(most.key()), mirror.problems().keySet());
        String why = mirror.problems().getOrDefault(most.key(), "");
        assertTrue(why.contains("takes 93 KiB") && why.contains("delete it"), why);
    }

    @Test
    void whoGrowsIsLeftOutAndComesBackWhenItShrinks() {
        mirror.replace(listing(revision, ImmutableSortedMap.of(), report("a", 700), report("b", 700)));
        assertEquals(Set.of("a", "b"), heard());

        mirror.change(ImmutableList.of(report("b", 900)), ImmutableList.of(), revision);
        assertEquals(Set.of("a"), heard());

        mirror.change(ImmutableList.of(report("b", 20)), ImmutableList.of(), revision);
        assertEquals(Set.of("a", "b"), heard());
        assertEquals(Set.of(), mirror.problems().keySet());

        mirror.change(ImmutableList.of(), ImmutableList.of(keys.reports() + "a"), ++revision);
        mirror.change(ImmutableList.of(report("c", 1400)), ImmutableList.of(), revision);
        assertEquals(Set.of("b", "c"), heard());
    }

    @Test
    void whatTheListingHasLeftOutIsNamed() {
        String key = keys.reports() + "a";

        mirror.replace(listing(revision, ImmutableSortedMap.of(key, 1L << 20), report("b", 1)));

        assertEquals(Set.of("b"), heard());
        assertTrue(mirror.problems().getOrDefault(key, "").contains("takes 1024 KiB"));
    }
}
