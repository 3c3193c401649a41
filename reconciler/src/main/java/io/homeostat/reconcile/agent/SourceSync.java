package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.source.SourceSnapshot;
import io.homeostat.desired.source.StoredWorkloads;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;

/** Brings into the store what the sources on this machine declare now. */
final class SourceSync {
    private final StateStore store;
    private final InstantSource clock;
    private volatile ImmutableMap<SourceName, Function<StoredWorkloads, SourceSnapshot>> sources = ImmutableMap.of();

    SourceSync(StateStore store, InstantSource clock) {
        this.store = store;
        this.clock = clock;
    }

    /** From here on these are read: each is told what is stored of it, and says what it declares. */
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
        sources.forEach((name, source) -> {
            try {
                SourceSnapshot reading = source.apply(StoredWorkloads.of(name, before));
                if (Thread.currentThread().isInterrupted()) {
                    return;
                }
                replace(reading, storing);
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
