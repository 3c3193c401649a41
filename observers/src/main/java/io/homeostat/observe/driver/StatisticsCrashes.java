package io.homeostat.observe.driver;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Splitter;
import com.google.common.primitives.Ints;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.DriverSessions.Notes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How often a revision of a driver has died of being asked what its tasks use. It is written down where
 * no workload can write, so that no later agent asks one again that has died of it too often.
 */
final class StatisticsCrashes {
    private static final Logger LOG = LoggerFactory.getLogger(StatisticsCrashes.class);

    /** So many deaths, and it is never asked again. */
    static final int ENOUGH = 2;

    /** A driver that ends so soon after it was asked has died of it, as far as anybody can tell. */
    private static final Duration SOON = Duration.ofSeconds(5);

    /** Within which a process ends after its connections have. */
    private static final Duration DYING = Duration.ofSeconds(2);

    private static final Duration POLL = Duration.ofMillis(20);

    /** Of all drivers together, of which a count is kept, the newest. */
    private static final int REVISIONS = 100;

    private final Layout layout;
    private final Notes notes;
    private final Ticker ticker;

    StatisticsCrashes(Layout layout, Notes notes, Ticker ticker) {
        this.notes = notes;
        this.layout = layout;
        this.ticker = ticker;
    }

    OfDriver of(Instance driver) {
        return new OfDriver(driver);
    }

    private Path file() {
        return layout.machineDirectory().resolve("statistics-crashes");
    }

    private static String key(Instance driver) {
        return driver.workload().name() + " " + driver.revision();
    }

    /** Counts by driver and revision; a file that can't be read counts nothing. */
    private synchronized Map<String, Integer> counts() {
        Map<String, Integer> counts = new LinkedHashMap<>();
        try {
            for (String line : Files.readAllLines(file())) {
                List<String> parts = Splitter.on(' ').splitToList(line);
                Integer count = parts.size() == 3 ? Ints.tryParse(parts.get(2)) : null;
                if (count != null) {
                    counts.put(parts.get(0) + " " + parts.get(1), count);
                }
            }
        } catch (NoSuchFileException e) {
            return counts;
        } catch (IOException e) {
            LOG.warn("{} can't be read: {}", file(), e.getMessage());
        }
        return counts;
    }

    private synchronized int count(Instance driver) {
        Map<String, Integer> counts = counts();
        Integer before = counts.remove(key(driver));
        int count = before == null ? 1 : before + 1;
        counts.put(key(driver), count);
        Iterator<String> oldest = counts.keySet().iterator();
        while (counts.size() > REVISIONS) {
            oldest.next();
            oldest.remove();
        }
        StringBuilder text = new StringBuilder();
        counts.forEach((revision, deaths) ->
                text.append(revision).append(' ').append(deaths).append('\n'));
        try {
            notes.replace(file(), text.toString().getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            LOG.warn(
                    "[{}] that it has died of being asked what its tasks use could not be written down: {}",
                    driver.workload().brief(),
                    e.getMessage());
        }
        return count;
    }

    /** One launch of a driver, for all of its tasks. */
    final class OfDriver {
        private final Instance driver;
        private boolean allowed;
        private boolean counted;
        private long lastOpened;

        private OfDriver(Instance driver) {
            this.driver = driver;
            Integer before = counts().get(key(driver));
            this.allowed = before == null || before < ENOUGH;
        }

        synchronized boolean mayBeAsked() {
            return allowed && !counted;
        }

        synchronized void opened() {
            lastOpened = ticker.read();
        }

        /** A stream has ended. When the driver's process ends now, too, that counts, once for all streams. */
        void brokenOff(DriverSession session, boolean hasAnswered) {
            synchronized (this) {
                boolean suspect = !hasAnswered || ticker.read() - lastOpened < SOON.toNanos();
                if (!suspect || counted || session.isEnding()) {
                    return;
                }
            }
            Thread _ = Thread.ofVirtual()
                    .name("crash of " + driver.workload().brief())
                    .start(() -> countIfDead(session));
        }

        private void countIfDead(DriverSession session) {
            try {
                for (Duration left = DYING; session.isAlive() && left.isPositive(); left = left.minus(POLL)) {
                    Thread.sleep(POLL);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
            int deaths;
            synchronized (this) {
                if (session.isAlive() || counted) {
                    return;
                }
                // Whoever is told that it may not be asked any more finds that written down.
                deaths = count(driver);
                counted = true;
            }
            LOG.warn(
                    "[{}] its revision {} died when it was asked what its tasks use, {} of {} times; {}",
                    driver.workload().brief(),
                    driver.revision(),
                    deaths,
                    ENOUGH,
                    deaths < ENOUGH
                            ? "it will be asked once more"
                            : "it is never asked again, so that is not known of tasks outside of our control groups");
        }
    }
}
