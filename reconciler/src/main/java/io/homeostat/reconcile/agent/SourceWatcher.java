package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.fleet.MachineLabels;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.source.MachineSources;
import io.homeostat.desired.source.SourceSnapshot;
import io.homeostat.desired.source.StoredWorkloads;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.observe.Pace;
import io.homeostat.observe.watch.FileChanges;
import io.homeostat.reconcile.agent.telemetry.ProblemLog;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** When the sources on this machine are read: at each resync, when a file of theirs changes, and when one asks to be read again. */
final class SourceWatcher implements AutoCloseable {
    private static final String READING = "reading the sources";

    private final ImmutableList<Path> defaultFiles;
    private final SourceSync sync;
    private final InstantSource clock;
    private final Function<AgentConfig, MachineLabels> labels;
    private final boolean hinted;
    private final Runnable whenDue;
    private final PeriodicTasks tasks = new PeriodicTasks("sources");
    private final Pace pace = new Pace();

    /** Whether a reading is due that has not begun. */
    private final AtomicBoolean asked = new AtomicBoolean();

    private @Nullable FileChanges files;

    /**
     * @param defaultFiles where YAML is read from unless the configuration says otherwise
     * @param labels what placement goes by, with this configuration
     * @param hinted false: changes of files are noticed at the resync only
     * @param whenDue calls {@link #read} and acts on what has changed
     */
    SourceWatcher(
            ImmutableList<Path> defaultFiles,
            AgentConfig config,
            StateStore store,
            InstantSource clock,
            Function<AgentConfig, MachineLabels> labels,
            boolean hinted,
            Runnable whenDue) {
        this.labels = labels;
        this.defaultFiles = defaultFiles;
        this.sync = new SourceSync(store, clock);
        this.clock = clock;
        this.hinted = hinted;
        this.whenDue = whenDue;
        sync.use(sources(config).readers(clock));
    }

    /** Begins to watch the files of this configuration, in place of those of the one before. */
    synchronized void watch(AgentConfig config) {
        close(files);
        files = hinted ? new FileChanges(sources(config).paths(), this::soon) : null;
    }

    /** From here on the sources of this configuration count; they are read in a moment. */
    void use(AgentConfig config) {
        sync.use(sources(config).readers(clock));
        watch(config);
        soon();
    }

    /** Has this done again and again, never at the same time as a reading. */
    void every(Supplier<Duration> pause, Runnable resync) {
        tasks.every(pause, "the resync", resync);
    }

    /**
     * Brings what the sources say into the store.
     *
     * @param declaring held while something is stored
     * @throws StoreException when a source could not be stored; others may have been
     */
    void read(Lock declaring) {
        sync.read(declaring).ifPresent(wait -> tasks.instead(wait.plusMillis(1), READING, this::readAtPace));
    }

    /** Never lost: what changes before a reading begins is seen by it. */
    private void soon() {
        if (asked.compareAndSet(false, true)) {
            tasks.soon(READING, this::readAtPace);
        }
    }

    /** A thousand files that change all the time must not take all of the time to read. */
    private void readAtPace() {
        pace.begin();
        asked.set(false);
        try {
            // Who was told to end meanwhile could not read any file.
            if (!Thread.currentThread().isInterrupted()) {
                whenDue.run();
            }
        } finally {
            pace.end();
        }
    }

    private MachineSources sources(AgentConfig config) {
        return new MachineSources(config, () -> defaultFiles, labels.apply(config), TrustedPath.isRoot());
    }

    private static void close(@Nullable FileChanges watched) {
        if (watched != null) {
            watched.close();
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            close(files);
            files = null;
        }
        tasks.close();
    }

    /** Brings into the store what the sources on this machine declare now. */
    static final class SourceSync {
        private static final Logger LOG = LoggerFactory.getLogger(SourceSync.class);

        private final Map<SourceName, ProblemLog> told = new EnumMap<>(SourceName.class);
        private final StateStore store;
        private final InstantSource clock;
        private volatile ImmutableMap<SourceName, Function<StoredWorkloads, SourceSnapshot>> sources =
                ImmutableMap.of();

        SourceSync(StateStore store, InstantSource clock) {
            this.store = store;
            this.clock = clock;
        }

        /** Replaces the sources. Each is given what is stored of it, and returns what it declares. */
        void use(ImmutableMap<SourceName, Function<StoredWorkloads, SourceSnapshot>> next) {
            sources = next;
        }

        /**
         * Reads all sources. Each is stored as a whole or not at all, and one that can't be stored doesn't keep the others from being read.
         * After an interrupt nothing more is stored: no file can be read then, which is not the files' fault.
         *
         * @param storing held while something is stored, but never while a disk is read, which may hang
         * @return how long until they have to be read again, because something was being written
         * @throws StoreException the first one, when all are read
         */
        synchronized Optional<Duration> read(Lock storing) {
            ImmutableList<StoredDeclaration> before = store.declarations();
            List<Duration> again = new ArrayList<>();
            List<StoreException> failures = new ArrayList<>();
            sources.forEach((name, reader) -> {
                try {
                    SourceSnapshot reading = reader.apply(StoredWorkloads.of(name, before));
                    if (Thread.currentThread().isInterrupted()) {
                        return;
                    }
                    replace(reading, storing);
                    told.computeIfAbsent(name, source -> new ProblemLog(LOG, source.word()))
                            .tell(reading.content().problems());
                    reading.lookAgain().ifPresent(again::add);
                } catch (StoreException e) {
                    failures.add(e);
                }
            });
            if (!failures.isEmpty()) {
                throw failures.getFirst();
            }
            return again.stream().min(Comparator.naturalOrder());
        }

        private void replace(SourceSnapshot reading, Lock storing) {
            storing.lock();
            try {
                store.replace(reading.content(), clock.instant());
            } finally {
                storing.unlock();
            }
        }
    }
}
