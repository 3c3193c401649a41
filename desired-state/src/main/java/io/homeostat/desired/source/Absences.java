package io.homeostat.desired.source;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * How long files have been missing, from reading to reading. A directory's time tells that something in it has changed, not what. A file
 * that was seen again starts anew.
 */
final class Absences {
    private final Map<String, Instant> since = new HashMap<>();
    private final Set<String> now = new HashSet<>();

    /** How long the file has been missing as of this reading; zero if it was there at the previous one. */
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
