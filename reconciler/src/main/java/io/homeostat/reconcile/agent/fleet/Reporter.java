package io.homeostat.reconcile.agent.fleet;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.MachineReport;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.remote.FetchFailure;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.observe.Defect;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells a fleet how this machine is whenever that has changed, by a thread of its own until it is closed. What is in the report is what
 * the loop saw last.
 */
abstract class Reporter implements AutoCloseable {
    /** The least time between two reports. */
    static final Duration INTERVAL = Duration.ofSeconds(10);

    /** How long its end may take. */
    private static final Duration ENDING = Duration.ofSeconds(5);

    private static final Logger LOG = LoggerFactory.getLogger(Reporter.class);
    private static final Backoff BACKOFF = Backoff.doubling(Duration.ofSeconds(1), Duration.ofMinutes(1));

    final InstantSource clock;
    final RandomGenerator random;
    final RecordCodec codec = new RecordCodec(new ObjectMapper());
    private final ReportedWorkloads workloads;
    private final Supplier<About> about;
    private final ReportPace pace;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changes = lock.newCondition();
    private final Thread thread;
    private int failures;
    private volatile String problem = "";

    /**
     * What is in a report beside workloads.
     *
     * @param agent version of the agent
     * @param labels of the machine, see {@link io.homeostat.desired.fleet.MachineRegistration}
     * @param source of the published set that is in force, with its version and sequence
     * @param problems of the machine's sources
     */
    record About(
            String agent,
            ImmutableSortedMap<String, String> labels,
            String source,
            String version,
            long sequence,
            int problems) {}

    /** @param interval the least time between two reports */
    Reporter(
            String name,
            ReportedWorkloads workloads,
            Supplier<About> about,
            InstantSource clock,
            RandomGenerator random,
            Duration interval) {
        this.workloads = workloads;
        this.about = about;
        this.clock = clock;
        this.random = random;
        this.pace = new ReportPace(interval, random);
        this.thread = Thread.ofVirtual().name(name).unstarted(this::run);
    }

    /** Begins to report, once. */
    final void start() {
        thread.start();
    }

    /** Why nothing can be reported; empty when it can. */
    final String problem() {
        return problem;
    }

    /** Something of what is reported may have changed. */
    final void changed() {
        lock.lock();
        try {
            pace.changed(clock.instant());
            changes.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Reports until that can't go on as it began. */
    abstract void report() throws KeyValuesException, FetchFailure, InterruptedException;

    /** The fleet can be told. */
    final void reached() {
        failures = 0;
        problem = "";
    }

    private void run() {
        while (true) {
            try {
                report();
            } catch (KeyValuesException | FetchFailure e) {
                failures++;
                tell(String.valueOf(e.getMessage()));
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException e) {
                failures++;
                problem = "this machine can't report to its fleet: " + Defect.words(e);
                LOG.error("{}", problem, e);
            }
            try {
                Thread.sleep(BACKOFF.delay(Math.max(1, failures), Duration.ZERO, random));
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    /** Once as long as it lasts: whoever is cut off fails again and again. */
    private void tell(String failure) {
        String why = "this machine can't report to its fleet: " + failure;
        if (problem.isEmpty()) {
            LOG.warn("{}", why);
        }
        problem = why;
    }

    /**
     * Waits until a report is due, and says so; or until another time.
     *
     * @param longest how far that may be away: whoever set the clock back must not wait for longer
     */
    final boolean awaitDue(Instant other, Duration longest) throws InterruptedException {
        lock.lock();
        try {
            while (true) {
                Instant now = clock.instant();
                if (!other.isAfter(now) || other.isAfter(now.plus(longest))) {
                    return false;
                }
                Optional<Instant> reporting = pace.due(now);
                Instant due = reporting.orElse(other);
                if (reporting.isPresent() && !due.isAfter(now)) {
                    // Before anything is read: what changes from here on is due again.
                    pace.sent(now);
                    return true;
                }
                long millis =
                        Duration.between(now, due.isBefore(other) ? due : other).toMillis();
                boolean _ = changes.await(millis + 1, TimeUnit.MILLISECONDS);
            }
        } finally {
            lock.unlock();
        }
    }

    /** As of now; one report has it from one look. */
    final About about() {
        return about.get();
    }

    /** With what the loop saw last. */
    final MachineReport current(About now) {
        return new MachineReport(
                now.agent(),
                clock.instant(),
                now.source(),
                now.version(),
                now.sequence(),
                now.problems(),
                workloads.now());
    }

    @Override
    public void close() {
        thread.interrupt();
        try {
            boolean _ = thread.join(ENDING);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
