package io.homeostat.reconcile.logs;

import com.google.common.collect.ImmutableList;
import io.homeostat.reconcile.logs.LogIndex.Extent;
import io.homeostat.reconcile.logs.LogIndex.Point;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * When what is in a log and its copies was written, as far as that was noted: the times are those by which it had been, earlier at most by a
 * tick of the clock that file systems go by. What nobody has noted has the time of its file's last change.
 */
public final class LogTimes {
    /** Nothing was noted. */
    public static final LogTimes NONE = new LogTimes(ImmutableList.of());

    private static final Logger LOG = LoggerFactory.getLogger(LogTimes.class);

    /**
     * What has one time.
     *
     * @param end the offset of what follows it
     */
    public record Span(long end, Instant time) {}

    private final ImmutableList<Point> points;

    private LogTimes(ImmutableList<Point> points) {
        this.points = points;
    }

    /** What can't be read counts as not noted. */
    public static LogTimes of(Path log, Path index) {
        try {
            return new LogTimes(LogIndex.valid(new LogIndex(index).read(), Extent.of(log), LogIndex.copies(log)));
        } catch (NoSuchFileException e) {
            return NONE;
        } catch (IOException e) {
            LOG.debug("when {} was written is not known", log, e);
            return NONE;
        }
    }

    public boolean isEmpty() {
        return points.isEmpty();
    }

    /**
     * A file from its beginning to wherever it ends.
     *
     * @param file the number of its inode
     * @param changed when it was changed last
     */
    public ImmutableList<Span> spans(long file, Instant changed) {
        ImmutableList.Builder<Span> spans = ImmutableList.builder();
        for (Point point : points) {
            if (point.file() == file) {
                spans.add(new Span(point.offset(), Instant.ofEpochMilli(point.millis())));
            }
        }
        return spans.add(new Span(Long.MAX_VALUE, changed)).build();
    }

    /** The offset before which everything was written earlier than that; {@link Long#MAX_VALUE}: all of it was. */
    public static long beginning(List<Span> spans, Instant since) {
        long beginning = 0;
        for (Span span : spans) {
            if (!span.time().isBefore(since)) {
                break;
            }
            beginning = span.end();
        }
        return beginning;
    }
}
