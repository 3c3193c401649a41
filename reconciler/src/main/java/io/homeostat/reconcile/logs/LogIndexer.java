package io.homeostat.reconcile.logs;

import io.homeostat.reconcile.logs.LogIndex.Extent;
import io.homeostat.reconcile.logs.LogIndex.Point;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** Notes when logs have grown. Looks at one that has not costs one stat(2); what is noted is read again only after a failure. */
final class LogIndexer {
    /** A log as it was when it was noted last, and how many points its index has. */
    private record Noted(Object key, long size, int points) {}

    private static final Noted NOTHING = new Noted("", -1, 0);

    private final InstantSource clock;
    private final Map<Path, Noted> noted = new HashMap<>();

    LogIndexer(InstantSource clock) {
        this.clock = clock;
    }

    /** Notes how long a log is if that has changed. What fails is done at the next look. */
    void look(Path log, LogIndex index) throws IOException {
        BasicFileAttributes seen;
        try {
            seen = Files.readAttributes(log, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        } catch (NoSuchFileException e) {
            return;
        }
        Noted before = noted.get(log);
        if (!seen.isRegularFile()) {
            return;
        }
        Noted same = before != null && before.key().equals(seen.fileKey()) ? before : NOTHING;
        if (same.size() == seen.size()) {
            return;
        }
        noted.remove(log);
        Extent extent = Extent.of(log);
        int points;
        if (same.points() > 0 && same.points() < LogIndex.MOST && same.size() < extent.size()) {
            index.append(extent.end(clock.instant()));
            points = same.points() + 1;
        } else {
            points = begin(log, extent, index);
        }
        noted.put(log, new Noted(Objects.requireNonNull(seen.fileKey()), extent.size(), points));
    }

    /** Goes on from what is noted already, as far as it holds; returns how many points there are. */
    private int begin(Path log, Extent extent, LogIndex index) throws IOException {
        List<Extent> copies = LogIndex.copies(log);
        List<Point> points = new ArrayList<>(LogIndex.thinned(LogIndex.valid(index.read(), extent, copies)));
        for (Extent copy : copies) {
            if (!LogIndex.has(points, copy)) {
                points.add(copy.end(clock.instant()));
            }
        }
        boolean known =
                points.stream().anyMatch(point -> point.file() == extent.file() && point.offset() == extent.size());
        if (extent.size() > 0 && !known) {
            points.add(extent.end(clock.instant()));
        }
        index.replace(points);
        return points.size();
    }

    /**
     * A log was rotated: what was noted of it is now true of its newest copy.
     *
     * @param lost how many bytes of its beginning that copy does not have
     */
    void rotated(Path log, LogIndex index, long lost) throws IOException {
        noted.remove(log);
        List<Extent> copies = LogIndex.copies(log);
        if (copies.isEmpty()) {
            return;
        }
        Extent live = Extent.of(log);
        Extent copy = copies.getLast();
        List<Point> points = new ArrayList<>();
        for (Point point : index.read()) {
            if (point.file() == live.file()) {
                long offset = point.offset() - lost;
                if (offset > 0 && offset < copy.size()) {
                    points.add(new Point(copy.file(), offset, point.millis()));
                }
            } else if (point.file() != copy.file()) {
                points.add(point);
            }
        }
        points.add(copy.end(clock.instant()));
        index.replace(LogIndex.valid(points, live, copies));
    }

    /** Forgets all other logs. */
    void retain(Set<Path> logs) {
        noted.keySet().retainAll(logs);
    }
}
