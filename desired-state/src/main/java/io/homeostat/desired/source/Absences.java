package io.homeostat.desired.source;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * For how long files have been missing, over several readings: their directory tells when it was changed last, not by which file, and in
 * some directories something changes all the time. A file that is back at a reading is missing anew after that.
 */
final class Absences {
    private final Map<String, Instant> since = new HashMap<>();
    private final Set<String> now = new HashSet<>();

    /** How long a file that is missing now has been, as far as anybody has looked: not at all when it was there the last time. */
    Duration missing(String origin, Instant at) {
        now.add(origin);
        // The clock may have been set back.
        return Duration.between(since.merge(origin, at, (first, again) -> first.isAfter(again) ? again : first), at);
    }

    /** Call when a reading is over. */
    void looked() {
        since.keySet().retainAll(now);
        now.clear();
    }
}
