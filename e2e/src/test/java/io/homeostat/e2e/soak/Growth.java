package io.homeostat.e2e.soak;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;

/**
 * What grows, by comparing the last quarter with the second: in the first one caches fill and code is compiled. A leak of a little with
 * each thing that happens is far above these limits after some hundreds of them.
 */
final class Growth {
    private static final long KIB = 1024;
    private static final long MIB = 1024 * KIB;
    private static final int QUARTERS = 4;
    private static final int FEWEST = 2 * QUARTERS;
    private static final int SHOWN = 24;
    private static final long PERCENT = 100;

    /** Of each workload are kept the ten declarations before; in one run only some of them come. */
    private static final long HISTORY = 4 * KIB;

    /** One in so many workloads may be on its way at a look, with what belongs to it. */
    private static final int PART = 50;

    /**
     * One thing that must not grow.
     *
     * @param percent by how much it may, of the second quarter
     * @param slack by how much it may besides, in the unit of its value
     * @param why the limit is this one
     */
    private record Limit(
            String name, long unit, ToLongFunction<Footprint> value, long percent, long slack, String why) {}

    private static List<Limit> limits(int workloads) {
        int some = workloads / PART;
        return List.of(
                new Limit(
                        "heap",
                        KIB,
                        Footprint::heap,
                        10,
                        2 * MIB,
                        "live objects: what is declared, and histories of it"),
                new Limit(
                        "rss", KIB, Footprint::rss, 10, 8 * MIB, "the JVM compiles and loads classes for a long time"),
                new Limit("anon", KIB, Footprint::anonymous, 10, 8 * MIB, "as rss, without what is read from files"),
                new Limit(
                        "fds",
                        1,
                        Footprint::descriptors,
                        0,
                        12 + some,
                        "one for each process, some for each client: both come and go"),
                new Limit(
                        "threads",
                        1,
                        Footprint::threads,
                        0,
                        8 + some,
                        "one for each child of the agent, and carriers of virtual threads"),
                new Limit("load", 1, Footprint::load, 30, 50, "thousandths of a core, for as much that happens"),
                new Limit(
                        "database",
                        KIB,
                        Footprint::database,
                        0,
                        2 * MIB + workloads * HISTORY,
                        "500 events and what a minute adds, what workloads were before; its journal"),
                new Limit(
                        "state",
                        KIB,
                        Footprint::state,
                        10,
                        32 * MIB,
                        "a plugin that is replaced is there twice, and its archive for a minute"),
                new Limit("files", 1, Footprint::files, 10, 60 + some, "so are their files"));
    }

    private Growth() {}

    /** In words; empty when nothing grows. */
    static List<String> found(List<Footprint> footprints, int workloads) {
        if (footprints.size() < FEWEST) {
            return List.of("only " + footprints.size() + " looks, which say nothing");
        }
        List<String> grown = new ArrayList<>();
        for (Limit limit : limits(workloads)) {
            long before = median(quarter(footprints, 1), limit.value);
            long after = median(quarter(footprints, QUARTERS - 1), limit.value);
            long allowed = before + before * limit.percent / PERCENT + limit.slack;
            if (after > allowed) {
                grown.add(limit.name + " has grown from " + before / limit.unit + " to " + after / limit.unit + " "
                        + unit(limit) + ", and " + allowed / limit.unit + " were allowed (" + limit.why + ")");
            }
        }
        return grown;
    }

    /** Some of the looks, evenly, then the medians of the quarters. */
    static List<String> table(List<Footprint> footprints) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(Locale.ROOT, "%10s", "seconds")
                + limits(0).stream()
                        .map(limit -> String.format(Locale.ROOT, "%12s", limit.name + " " + unit(limit)))
                        .reduce("", String::concat));
        int every = Math.max(1, footprints.size() / SHOWN);
        for (int i = 0; i < footprints.size(); i += every) {
            lines.add(line(Long.toString(footprints.get(i).at().toSeconds()), List.of(footprints.get(i))));
        }
        if (footprints.size() >= FEWEST) {
            for (int quarter = 0; quarter < QUARTERS; quarter++) {
                lines.add(line("quarter " + (quarter + 1), quarter(footprints, quarter)));
            }
        }
        return lines;
    }

    private static String line(String title, List<Footprint> footprints) {
        return String.format(Locale.ROOT, "%10s", title)
                + limits(0).stream()
                        .map(limit -> String.format(Locale.ROOT, "%12d", median(footprints, limit.value) / limit.unit))
                        .reduce("", String::concat);
    }

    private static String unit(Limit limit) {
        return limit.unit == 1 ? "" : "KiB";
    }

    private static List<Footprint> quarter(List<Footprint> footprints, int quarter) {
        int size = footprints.size();
        return footprints.subList(size * quarter / QUARTERS, size * (quarter + 1) / QUARTERS);
    }

    private static long median(List<Footprint> footprints, ToLongFunction<Footprint> value) {
        long[] sorted = footprints.stream().mapToLong(value).sorted().toArray();
        return sorted[sorted.length / 2];
    }
}
