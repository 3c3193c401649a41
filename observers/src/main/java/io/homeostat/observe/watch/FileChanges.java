package io.homeostat.observe.watch;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.observe.watch.WatchedTree.Change;
import io.homeostat.observe.watch.WatchedTree.Gap;
import java.io.IOException;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports, soon after it happened, a change at or below a set of paths, which need not exist yet. These are hints: what cannot be watched
 * is logged, and only the periodic look notices its changes. What the kernel does not report (a mount, another target of a symlink) is
 * looked for every 10 s.
 *
 * <p>Changes in quick succession are one call: after 20 ms of quiet, or one second after the first. A file that was moved here
 * complete is told of at once, unless there was a call less than 200 ms before: then it may be one of many. Before a call, all directories that
 * exist by then are being watched, so a change that comes too late for it leads to another call.
 */
public final class FileChanges implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FileChanges.class);
    private static final Duration QUIET = Duration.ofMillis(20);
    private static final Duration LONGEST_DELAY = Duration.ofSeconds(1);
    private static final Duration LULL = Duration.ofMillis(200);
    private static final Duration RETRY = Duration.ofSeconds(10);
    private static final Duration PATIENCE_AT_CLOSE = Duration.ofSeconds(5);

    /** Creates trees. */
    interface Trees {
        WatchedTree watching(ImmutableSet<Path> paths) throws IOException;
    }

    private final Trees trees;
    private final ImmutableSet<Path> paths;
    private final Runnable onChange;
    private final Duration retry;
    private final Ticker ticker = Ticker.systemTicker();
    private final Debounce debounce;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread thread;

    private final Object lock = new Object();
    /** Null while nothing can be watched. Exchanged under the lock, so that close() closes the last one. */
    private @Nullable WatchedTree tree;

    // Used by the thread only.
    private ImmutableMap<Gap, String> gaps = ImmutableMap.of();
    private boolean stale;

    /**
     * Starts watching: what changes after this has returned is reported.
     *
     * @param onChange called on a thread of this object, one call at a time
     */
    public FileChanges(ImmutableSet<Path> directories, Runnable onChange) {
        this(directories, onChange, RETRY, WatchedTree::new);
    }

    /**
     * Starts watching files alone, at whose place others may put a directory with anything in it: of that only is reported that it comes and
     * goes.
     *
     * @param onChange as above
     */
    public static FileChanges ofFiles(ImmutableSet<Path> files, Runnable onChange) {
        return new FileChanges(files, onChange, RETRY, WatchedTree::ofFiles);
    }

    /** @param retry how often to retry what could not be watched, and to look for what the kernel does not report */
    FileChanges(ImmutableSet<Path> directories, Runnable onChange, Duration retry, Trees trees) {
        this(directories, onChange, retry, trees, new Debounce(QUIET, LONGEST_DELAY, LULL));
    }

    FileChanges(ImmutableSet<Path> directories, Runnable onChange, Duration retry, Trees trees, Debounce debounce) {
        this.debounce = debounce;
        this.trees = trees;
        this.paths = directories;
        this.onChange = onChange;
        this.retry = retry;
        this.thread = Thread.ofPlatform().name("file-changes").daemon(true).unstarted(this::run);
        exchange();
        thread.start();
    }

    /** Stops watching. No call begins after this has returned, unless one takes longer than five seconds. */
    @Override
    public void close() {
        synchronized (lock) {
            closed.countDown();
            discard();
        }
        if (!thread.equals(Thread.currentThread())) {
            try {
                thread.join(PATIENCE_AT_CLOSE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void run() {
        while (closed.getCount() > 0) {
            try {
                watch();
            } catch (ClosedWatchServiceException e) {
                LOG.debug("No file is watched any more");
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            } catch (RuntimeException | Error e) {
                LOG.error("Watching files failed; it is tried again in {}", retry, e);
                startAgainLater();
            }
        }
    }

    private void watch() throws InterruptedException {
        long nextLook = ticker.read() + retry.toNanos();
        while (closed.getCount() > 0) {
            long now = ticker.read();
            if (debounce.untilDue(now) <= 0) {
                report();
            } else if (now >= nextLook) {
                look(now);
                nextLook = ticker.read() + retry.toNanos();
            } else {
                await(Duration.ofNanos(Math.min(debounce.untilDue(now), nextLook - now)));
            }
        }
    }

    private void startAgainLater() {
        try {
            boolean ignored = closed.await(retry.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        stale = true;
        debounce.changed(ticker.read());
    }

    /** Looks for changes that cause no event. */
    private void look(long now) {
        WatchedTree current = current();
        if (current != null && !current.isCurrent()) {
            stale = true;
            debounce.changed(now);
        } else if (!gaps.isEmpty()) {
            retry(now);
        }
    }

    private void await(Duration atMost) throws InterruptedException {
        WatchedTree current = current();
        Change change = Change.NONE;
        if (current == null) {
            boolean ignored = closed.await(atMost.toNanos(), TimeUnit.NANOSECONDS);
        } else {
            change = current.await(atMost);
        }
        stale |= change == Change.STRUCTURE;
        switch (change) {
            case NONE -> {}
            case ARRIVAL -> debounce.arrived(ticker.read());
            case CONTENT, STRUCTURE -> debounce.changed(ticker.read());
        }
    }

    private void report() {
        debounce.reported(ticker.read());
        if (stale) {
            stale = false;
            exchange();
        }
        if (closed.getCount() > 0) {
            try {
                onChange.run();
            } catch (RuntimeException | Error e) {
                LOG.error("What should follow a change of files failed; the periodic look will make up for it", e);
            }
        }
    }

    /** Checks whether what could not be watched can be now, without losing an event if it cannot. */
    private void retry(long now) {
        try (WatchedTree trial = trees.watching(paths)) {
            if (trial.gaps().keySet().equals(gaps.keySet())) {
                return;
            }
        } catch (IOException e) {
            LOG.debug("Files still can't be watched", e);
            return;
        }
        stale = true;
        debounce.changed(now);
    }

    /** Watches what exists now. Nothing is watched between two trees, so exchanging them counts as a change. */
    private void exchange() {
        synchronized (lock) {
            discard();
            if (closed.getCount() == 0) {
                return;
            }
            try {
                tree = trees.watching(paths);
                warn(tree.gaps());
            } catch (IOException e) {
                warn(ImmutableMap.of(new Gap(Gap.Kind.ALL, null), "anything: " + e.getMessage()));
            }
        }
    }

    private void discard() {
        if (tree != null) {
            try {
                tree.close();
            } catch (IOException e) {
                LOG.warn("Could not stop watching files: {}", e.getMessage());
            }
            tree = null;
        }
    }

    private void warn(ImmutableMap<Gap, String> now) {
        for (Gap gap : Sets.difference(now.keySet(), gaps.keySet())) {
            LOG.warn("Changes are noticed late, at each periodic look, of {}", now.get(gap));
        }
        if (now.isEmpty() && !gaps.isEmpty()) {
            LOG.info("All files are watched again");
        }
        gaps = now;
    }

    private @Nullable WatchedTree current() {
        synchronized (lock) {
            return tree;
        }
    }

    /**
     * Combines changes in quick succession into one report, due after a while of quiet or when the first change has waited long enough.
     * Times are those of a {@link com.github.benmanes.caffeine.cache.Ticker}. For one thread.
     */
    static final class Debounce {
        private final long quiet;
        private final long longest;
        private final long lull;
        private boolean pending;
        private long first;
        private long last;
        private boolean told;
        private long toldAt;

        /**
         * @param quiet time without changes after which a report is due
         * @param longest time that a change waits
         * @param lull time after a report before something may be reported at once
         */
        Debounce(Duration quiet, Duration longest, Duration lull) {
            this.quiet = quiet.toNanos();
            this.longest = longest.toNanos();
            this.lull = lull.toNanos();
        }

        /** Something changed that is over, and due at once unless others are on their way. */
        void arrived(long now) {
            boolean alone = !pending && !(told && now - toldAt < lull);
            changed(now);
            if (alone) {
                first = now - longest;
            }
        }

        void changed(long now) {
            if (!pending) {
                first = now;
            }
            pending = true;
            last = now;
        }

        /** Nanoseconds until a report is due, not positive when it is; {@link Long#MAX_VALUE} when nothing has changed. */
        long untilDue(long now) {
            return pending ? Math.min(last + quiet - now, first + longest - now) : Long.MAX_VALUE;
        }

        void reported(long now) {
            pending = false;
            told = true;
            toldAt = now;
        }
    }
}
