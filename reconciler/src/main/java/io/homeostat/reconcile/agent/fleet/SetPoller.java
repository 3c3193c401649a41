package io.homeostat.reconcile.agent.fleet;

import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.remote.FetchFailure;
import io.homeostat.desired.remote.LargeSetLock;
import io.homeostat.desired.remote.SetFetcher;
import io.homeostat.desired.remote.SetFetcher.Fetched;
import io.homeostat.desired.state.StoreException;
import java.time.Duration;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks a source for its set again and again, until it is interrupted. */
final class SetPoller implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(SetPoller.class);
    private static final Duration FLOOR = Duration.ofSeconds(1);
    private static final Duration FIRST = Duration.ofSeconds(2);
    private static final Duration CAP = Duration.ofMinutes(1);
    /** Machines that were started together do not come together. */
    private static final double JITTER = 0.1;

    private final SetFetcher fetcher;
    private final PublishedSource source;
    private final LargeSetLock large;
    private final Duration interval;
    private final RandomGenerator random;
    private final Backoff backoff;

    /** @param large what the fetcher acquires; released when what it has fetched was read */
    SetPoller(
            SetFetcher fetcher, PublishedSource source, LargeSetLock large, Duration interval, RandomGenerator random) {
        this.fetcher = fetcher;
        this.source = source;
        this.large = large;
        this.interval = interval;
        this.random = random;
        this.backoff = Backoff.doubling(FIRST, interval.compareTo(CAP) > 0 ? interval : CAP);
    }

    @Override
    public void run() {
        int failures = 0;
        try (fetcher) {
            while (true) {
                failures = poll() ? 0 : failures + 1;
                Thread.sleep(failures == 0 ? jittered(interval, random) : backoff.delay(failures, FLOOR, random));
            }
        } catch (InterruptedException e) {
            LOG.debug("{} is not asked any more", source.name());
        }
    }

    private boolean poll() throws InterruptedException {
        try {
            Fetched fetched = fetcher.fetch(source.seen());
            large.acquireFor(fetched);
            source.fetched(fetched);
            return true;
        } catch (FetchFailure e) {
            return failed(e.words());
        } catch (StoreException e) {
            LOG.error("what {} says could not be stored; it is asked again: {}", source.name(), e.getMessage());
            return false;
        } catch (RuntimeException | StackOverflowError e) {
            // Whatever it has must not end the asking.
            LOG.error("{} could not be asked", source.name(), e);
            return failed("it could not be asked (" + e.getClass().getSimpleName() + "); the agent's log says more");
        } finally {
            large.release();
        }
    }

    private boolean failed(String words) {
        try {
            source.failed(words);
        } catch (StoreException e) {
            LOG.error("{}: {}; that could not be stored: {}", source.name(), words, e.getMessage());
        }
        return false;
    }

    static Duration jittered(Duration interval, RandomGenerator random) {
        return Duration.ofMillis(Math.round(interval.toMillis() * random.nextDouble(1 - JITTER, 1 + JITTER)));
    }
}
