package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.AppliedDocument;
import io.homeostat.desired.store.Change;
import io.homeostat.desired.store.Event;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.StateStore;
import io.homeostat.desired.store.StoredEvent;
import io.homeostat.desired.store.WorkloadHistory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What is remembered, in memory. For tests that are about something else than the store. */
public class MemoryStore implements StateStore {
    private final Map<WorkloadId, WorkloadHistory> histories = new TreeMap<>();
    private final Map<String, Handle> handles = new LinkedHashMap<>();
    private final List<StoredEvent> events = new ArrayList<>();

    @Override
    public synchronized void commit(Change change) {
        if (change.dropHistory()) {
            histories.remove(change.workload());
        }
        WorkloadHistory history = change.history();
        if (history != null) {
            histories.put(change.workload(), history);
        }
        change.handles().forEach(handle -> handles.put(handle.launchId(), handle));
        change.ended().forEach(handles::remove);
        for (Event event : change.events()) {
            events.add(new StoredEvent(events.size() + 1L, event));
        }
    }

    /** All is lost but the store itself. */
    synchronized void clear() {
        histories.clear();
        handles.clear();
        events.clear();
    }

    @Override
    public synchronized WorkloadHistory history(WorkloadId id) {
        return histories.getOrDefault(id, WorkloadHistory.NONE);
    }

    @Override
    public synchronized ImmutableMap<WorkloadId, WorkloadHistory> histories() {
        return ImmutableMap.copyOf(histories);
    }

    @Override
    public synchronized ImmutableList<Handle> handles(WorkloadId id) {
        return handles.values().stream()
                .filter(handle -> handle.workload().equals(id))
                .collect(ImmutableList.toImmutableList());
    }

    @Override
    public synchronized ImmutableList<Handle> handles() {
        return ImmutableList.copyOf(handles.values());
    }

    @Override
    public synchronized ImmutableList<StoredEvent> events(long after, int limit) {
        return events.stream().filter(e -> e.id() > after).limit(limit).collect(ImmutableList.toImmutableList());
    }

    @Override
    public long seed() {
        return 42;
    }

    @Override
    public ImmutableList<AppliedDocument> applied() {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public boolean everDeclared() {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public ImmutableSet<WorkloadId> apply(
            ImmutableCollection<ToApply> documents, ImmutableSet<String> origins, boolean prune) {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public void delete(ImmutableCollection<WorkloadId> ids) {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public void trimEvents(int keep) {
        throw new UnsupportedOperationException("all events are kept");
    }

    @Override
    public void close() {
        // Nothing is held open.
    }
}
