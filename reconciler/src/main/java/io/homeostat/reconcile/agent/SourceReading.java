package io.homeostat.reconcile.agent;

import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.observe.watch.FileChanges;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** When the sources on this machine are read: at each resync, when a file of theirs changes, and when one asks to be read again. */
final class SourceReading implements AutoCloseable {
    private static final String READING = "reading the sources";

    private final Sources sources;
    private final SourceSync sync;
    private final InstantSource clock;
    private final boolean hinted;
    private final Runnable whenDue;
    private final Agenda agenda = new Agenda("sources");
    private @Nullable FileChanges files;

    /**
     * @param hinted false: changes of files are seen at the resync only
     * @param whenDue reads them, by {@link #read}, and acts on what they say
     */
    SourceReading(
            Sources sources,
            AgentConfig config,
            StateStore store,
            InstantSource clock,
            boolean hinted,
            Runnable whenDue) {
        this.sources = sources;
        this.sync = new SourceSync(store, clock);
        this.clock = clock;
        this.hinted = hinted;
        this.whenDue = whenDue;
        sync.use(sources.of(config, clock));
    }

    /** Begins to watch the files of this configuration, in place of those of the one before. */
    synchronized void watch(AgentConfig config) {
        close(files);
        files = hinted ? new FileChanges(sources.paths(config), this::soon) : null;
    }

    /** From here on the sources of this configuration count; they are read in a moment. */
    void use(AgentConfig config) {
        sync.use(sources.of(config, clock));
        watch(config);
        soon();
    }

    /** Has this done again and again, never at the same time as a reading. */
    void every(Supplier<Duration> pause, Runnable resync) {
        agenda.every(pause, "the resync", resync);
    }

    /**
     * Brings what the sources say into the store.
     *
     * @param declaring held while something is stored
     * @throws StoreException when a source could not be stored; others may have been
     */
    void read(Lock declaring) {
        sync.read(declaring).ifPresent(wait -> agenda.instead(wait, READING, whenDue));
    }

    private void soon() {
        agenda.soon(READING, whenDue);
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
        agenda.close();
    }
}
