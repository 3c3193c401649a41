package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Outbox;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateReader.EventQueue;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateReader.StoredEvent;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.StateStore.ControlPlaneChange;
import io.homeostat.desired.state.StateStore.SourceContent;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What is remembered, in memory. For tests that are about something else than the store. */
public class MemoryStore implements StateStore {
    private ImmutableList<StoredRevision> former = ImmutableList.of();
    private final Map<WorkloadId, WorkloadHistory> histories = new TreeMap<>();
    private final Map<String, Instance> instances = new LinkedHashMap<>();
    private final Map<WorkloadId, Pause> pauses = new TreeMap<>();
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
        change.instances().forEach(instance -> instances.put(instance.launchId(), instance));
        change.ended().forEach(instances::remove);
        for (Event event : change.events()) {
            events.add(new StoredEvent(events.size() + 1L, event));
        }
    }

    @Override
    public synchronized void commit(Change change, InstantSource clock) {
        commit(change.at(clock.instant()));
    }

    /** All is lost but the store itself. */
    synchronized void clear() {
        histories.clear();
        instances.clear();
        pauses.clear();
        events.clear();
    }

    @Override
    public synchronized WorkloadHistory history(WorkloadId id) {
        return histories.getOrDefault(id, WorkloadHistory.NONE);
    }

    @Override
    public synchronized ImmutableSet<WorkloadId> remembered() {
        return ImmutableSet.<WorkloadId>builder()
                .addAll(histories.keySet())
                .addAll(instances.values().stream().map(Instance::workload).iterator())
                .build();
    }

    @Override
    public synchronized ImmutableMap<WorkloadId, WorkloadHistory> histories() {
        return ImmutableMap.copyOf(histories);
    }

    @Override
    public ImmutableList<StoredRevision> revisions(WorkloadId id) {
        return former;
    }

    /** Only the last good one is remembered; a test says what would be. */
    public void remember(ImmutableList<StoredRevision> revisions) {
        former = revisions;
    }

    @Override
    public synchronized ImmutableList<Instance> instances(WorkloadId id) {
        return instances.values().stream()
                .filter(instance -> instance.workload().equals(id))
                .collect(ImmutableList.toImmutableList());
    }

    @Override
    public synchronized ImmutableList<Instance> instances() {
        return ImmutableList.copyOf(instances.values());
    }

    @Override
    public synchronized ImmutableList<StoredEvent> events(long after, int limit) {
        return events.stream().filter(e -> e.id() > after).limit(limit).collect(ImmutableList.toImmutableList());
    }

    @Override
    public ImmutableList<StoredSet.Standing> publishedSets() {
        return ImmutableList.of();
    }

    @Override
    public ImmutableSortedMap<String, String> publishedDocuments(SourceName source) {
        return ImmutableSortedMap.of();
    }

    @Override
    public ImmutableList<StoredSet.Highest> highestSequences(SourceName source) {
        return ImmutableList.of();
    }

    @Override
    public ImmutableSortedMap<String, String> rolloutStates() {
        return ImmutableSortedMap.of();
    }

    @Override
    public ImmutableSet<WorkloadId> take(StoredSet.Content set, SourceContent content, Instant now) {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public void answered(SourceName source, String name, @Nullable Instant at) {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public ImmutableSet<WorkloadId> withdrawSet(SourceName source, Instant now) {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public void storeRolloutStates(ImmutableSortedMap<String, String> states) {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public OptionalLong registeredAt(ImmutableSortedMap<String, String> labels) {
        return OptionalLong.empty();
    }

    @Override
    public void storeRegistration(long revision, ImmutableSortedMap<String, String> labels) {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public long seed() {
        return 42;
    }

    @Override
    public ImmutableList<StoredDeclaration> declarations() {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public ImmutableSet<WorkloadId> unreadable() {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public ImmutableSet<WorkloadId> replace(SourceContent content, Instant now) {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public void receive(ControlPlaneChange change) {
        throw new UnsupportedOperationException("tests declare by themselves");
    }

    @Override
    public ImmutableList<SourceProblem> problems() {
        return ImmutableList.of();
    }

    @Override
    public synchronized boolean pause(WorkloadId id, String reason, Instant now) {
        Pause old = pauses.get(id);
        Instant since = old == null ? now : old.since();
        return !new Pause(id, reason, since).equals(pauses.put(id, new Pause(id, reason, since)));
    }

    @Override
    public synchronized boolean stop(WorkloadId id, String reason, Instant now) {
        Pause stop = new Pause(id, reason, now, true);
        return !stop.equals(pauses.put(id, stop));
    }

    @Override
    public synchronized boolean resume(WorkloadId id, String reason, Instant now) {
        return pauses.remove(id) != null;
    }

    @Override
    public synchronized ImmutableList<Pause> pauses() {
        return ImmutableList.copyOf(pauses.values());
    }

    @Override
    public synchronized Optional<Pause> pause(WorkloadId id) {
        return Optional.ofNullable(pauses.get(id));
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
    public synchronized void record(Event event) {
        events.add(new StoredEvent(events.size() + 1L, event));
    }

    @Override
    public long hooksTold() {
        throw new UnsupportedOperationException();
    }

    @Override
    public ImmutableMap<String, Long> hooksAhead() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void hooksTold(long event, ImmutableMap<String, Long> ahead) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void forgetHooks() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void checkWritable(Instant now) {
        // Memory is.
    }

    @Override
    public void checkInPlace() {
        // Nobody deletes memory.
    }

    @Override
    public int trimEvents(int keep, Instant now) {
        throw new UnsupportedOperationException("all events are kept");
    }

    @Override
    public Outbox outbox() {
        throw new UnsupportedOperationException("nobody is told");
    }

    @Override
    public EventQueue eventQueue() {
        return EventQueue.NONE;
    }

    @Override
    public void close() {
        // Nothing is held open.
    }
}
