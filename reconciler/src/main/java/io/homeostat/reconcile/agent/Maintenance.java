package io.homeostat.reconcile.agent;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LogTurns;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.reconcile.agent.StateUpdates.Scope;
import io.homeostat.reconcile.agent.telemetry.LoopWatch;
import io.homeostat.reconcile.controlplane.Modules;
import io.homeostat.reconcile.logs.LogKeeper;
import io.homeostat.reconcile.loop.Housekeeping;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Periodic work beside the loop: keeps small what would grow without bounds, and checks that the store can be written. */
final class Maintenance implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Maintenance.class);
    private static final Duration HOUSEKEEPING = Duration.ofMinutes(1);

    /** What is written between two looks nobody bounds: a program that does nothing else fills disks within minutes. */
    private static final Duration LOGS = Duration.ofSeconds(2);

    /** What tasks print is seen in their logs so much later. */
    private static final Duration UPKEEP = Duration.ofMillis(500);

    private final Housekeeping housekeeping;
    private final LogKeeper logs;
    private final StateStore store;
    private final InstantSource clock;
    private final Lock declaring;
    private final LoopWatch watch;
    private final Modules modules;
    private final Supplier<AgentConfig.Bounds> bounds;
    private final Runnable upkeep;
    private final PeriodicTasks tasks = new PeriodicTasks("housekeeping");

    /** Apart, because it may have much to copy. */
    private final PeriodicTasks upkeeping = new PeriodicTasks("upkeep");

    /**
     * @param declaring held by whoever changes what is declared
     * @param bounds asked each time, since the configuration can change
     * @param turns taken when a log is rotated
     * @param upkeep done twice a second
     */
    Maintenance(
            Layout layout,
            StateStore store,
            InstantSource clock,
            Lock declaring,
            LoopWatch watch,
            Modules modules,
            Supplier<AgentConfig.Bounds> bounds,
            LogTurns turns,
            Runnable upkeep) {
        this.housekeeping = new Housekeeping(layout, store);
        this.logs = new LogKeeper(layout, clock, turns);
        this.upkeep = upkeep;
        this.store = store;
        this.clock = clock;
        this.declaring = declaring;
        this.watch = watch;
        this.modules = modules;
        this.bounds = bounds;
    }

    /** Before there are steps. */
    void tidy(Scope scope) {
        housekeeping.collectLeftovers(scope.declared(), scope.all(), clock.instant());
    }

    void begin() {
        tasks.every(() -> HOUSEKEEPING, "trying whether the store can be written", this::tryStore);
        tasks.every(() -> HOUSEKEEPING, "housekeeping", this::cleanUp);
        upkeeping.every(() -> UPKEEP, "upkeep of what runs", upkeep);
        tasks.every(
                () -> LOGS,
                "looking at the size of logs",
                () -> logs.keep(bounds.get().logBytesPerWorkload().bytes()));
    }

    /** Something else to do once, after a while. */
    void in(Duration delay, String what, Runnable work) {
        tasks.in(delay, what, work);
    }

    private void tryStore() {
        try {
            store.checkWritable(clock.instant());
            watch.storeTried(null);
        } catch (StoreException e) {
            watch.storeTried(e);
            throw e;
        }
    }

    private void cleanUp() {
        Instant start = clock.instant();
        Optional<String> problem = Optional.empty();
        declaring.lock();
        try {
            housekeeping.trimEvents(bounds.get().events(), start);
            housekeeping.cleanCache(bounds.get(), start);
        } catch (ActuationFailure | StoreException e) {
            // Costs room and nothing else; it is tried again in a minute.
            LOG.warn("{}", e.getMessage());
            problem = Optional.ofNullable(e.getMessage());
        } finally {
            declaring.unlock();
        }
        modules.ran(Modules.Part.CLEANING, start, clock.instant(), problem);
    }

    @Override
    public void close() {
        upkeeping.close();
        tasks.close();
    }
}
