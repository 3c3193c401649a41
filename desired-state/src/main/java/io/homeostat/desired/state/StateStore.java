package io.homeostat.desired.state;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.desired.state.history.RunRecord.Completed;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.yaml.CanonicalDocument;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What must be remembered. When a method returns, what it stored survives a power cut; when it throws
 * {@link StoreException}, nothing of it was stored.
 */
public interface StateStore extends StateReader {
    /** How long all events together may be ({@link Event#bytes}), however few they are: a control plane may send names of any length. */
    long MOST_EVENT_BYTES = 64 << 20;

    /** Stores one look's or step's outcome. */
    void commit(Change change);

    /**
     * As {@link #commit(Change)}, with the time at which it is stored in its events: those of several threads are in the order of their
     * times.
     */
    void commit(Change change, InstantSource clock);

    /**
     * Declares workloads as given to {@code apply}. A declaration that is equal to the stored one keeps its generation.
     *
     * @param origins the PATHs that were applied; with {@code prune}, what an earlier apply of these declared and this one doesn't is
     *     withdrawn
     * @return the workloads that were withdrawn
     */
    ImmutableSet<WorkloadId> apply(ImmutableCollection<ToApply> documents, ImmutableSet<String> origins, boolean prune);

    /** Withdraws applied workloads; ids that were not applied are ignored. */
    void delete(ImmutableCollection<WorkloadId> ids);

    /**
     * Replaces all that a source declares; {@link SourceName#APPLIED} and {@link SourceName#CONTROL_PLANE} have methods of their own.
     * What was stored from a retained origin stays, unless a document declares that workload. New and solved problems of an origin are
     * events. Equal content writes nothing.
     *
     * @return the workloads that are declared anew, differently or no longer
     */
    ImmutableSet<WorkloadId> replace(SourceContent content, Instant now);

    /**
     * Takes a published set: keeps it as the last good one of its source, and replaces what the source declares, both or neither. Its
     * sequence counts from now on.
     *
     * @param content what is declared of it on this machine
     * @return as {@link #replace}
     */
    ImmutableSet<WorkloadId> take(StoredSet.Content set, SourceContent content, Instant now);

    /**
     * Notes which source of sets is asked, and when it last answered.
     *
     * @param at null: not yet since it is asked
     */
    void answered(SourceName source, String name, @Nullable Instant at);

    /** Withdraws what a source of sets declares, with its set and its problems. Its highest sequences stay. */
    ImmutableSet<WorkloadId> withdrawSet(SourceName source, Instant now);

    /** Replaces how rollouts stand. */
    void storeRolloutStates(ImmutableSortedMap<String, String> states);

    /** Remembers in which revision of the fleet's store this machine was registered with these labels. */
    void storeRegistration(long revision, ImmutableSortedMap<String, String> labels);

    /**
     * Stores what one message of the control plane changes, as often as it comes: what it says is declared state. A declaration that is
     * equal to the stored one keeps its generation.
     */
    void receive(ControlPlaneChange change);

    /**
     * Has a workload left alone until it is resumed, whether it is declared or not, with an event. Another reason keeps the time of the
     * pause.
     *
     * @return false when it was paused for this reason already, and nothing was stored
     */
    boolean pause(WorkloadId id, String reason, Instant now);

    /**
     * Has a workload stopped until it is resumed, with an event; replaces a pause. The reason is for people and may be empty.
     *
     * @return false when it was stopped for this reason already, and nothing was stored
     */
    boolean stop(WorkloadId id, String reason, Instant now);

    /** Ends a pause or a stop, with an event; false when there was none. The reason is for people and may be empty. */
    boolean resume(WorkloadId id, String reason, Instant now);

    /** Stores an event that belongs to no change. */
    void record(Event event);

    /**
     * Deletes the oldest events until {@code keep} are left, and no more than {@link #MOST_EVENT_BYTES}, those that wait for the control
     * plane last; these are counted ({@link StateReader.EventQueue#dropped}) and reported by an event. Returns their number.
     */
    int trimEvents(int keep, Instant now);

    /** What the control plane has yet to be told. */
    Outbox outbox();

    /**
     * Writes something, so that a full or read-only disk is noticed even while there is nothing else to store.
     *
     * @throws StoreException when it is not possible
     */
    void checkWritable(Instant now);

    /**
     * Finds out whether what is stored will be there the next time. Every method that stores something does so, too, before it returns.
     *
     * @throws StoreException when somebody has deleted or replaced the store
     */
    void checkInPlace();

    /**
     * The id of the newest event that hooks need not be told of any more. The first call, and the first after {@link #forgetHooks}, begins
     * with what happens from now on.
     */
    long hooksTold();

    /** Those that are further, by what tells one from another. */
    ImmutableMap<String, Long> hooksAhead();

    /** Moves all on to this event, and some further. */
    void hooksTold(long event, ImmutableMap<String, Long> ahead);

    /** There are no hooks any more. */
    void forgetHooks();

    /** Has these workloads tried at once, see {@link WorkloadHistory#retriedNow}. */
    default void retryNow(ImmutableList<WorkloadId> ids) {
        for (WorkloadId id : ids) {
            WorkloadHistory history = history(id);
            WorkloadHistory next = history.retriedNow();
            if (!next.equals(history)) {
                commit(Change.ofHistory(id, next));
            }
        }
    }

    /**
     * Has what was undone tried again.
     *
     * @param byRequest whether only what somebody has had undone
     * @return those of which something was
     */
    default ImmutableList<WorkloadId> retryUndone(ImmutableList<WorkloadId> ids, boolean byRequest) {
        ImmutableList.Builder<WorkloadId> undone = ImmutableList.builder();
        for (WorkloadId id : ids) {
            WorkloadHistory history = history(id);
            FailedRevision failed = history.failed();
            if (failed != null && (failed.byRequest() || !byRequest)) {
                commit(Change.ofHistory(id, history.withoutRollback().withFailed(null)));
                undone.add(id);
            }
        }
        return undone.build();
    }

    /** Has these workloads launched once more, see {@link RunRecord#again}. */
    default void launchAgain(ImmutableList<WorkloadId> ids) {
        for (WorkloadId id : ids) {
            WorkloadHistory history = history(id);
            OneShotRun run = history.run().oneShot();
            Completed completed = history.run().completed();
            String last = instances(id).stream()
                    .max(Comparator.comparing(Instance::launchedAt))
                    .map(Instance::launchId)
                    .orElse(completed != null ? completed.launchId() : run == null ? "" : run.launchId());
            commit(Change.ofHistory(id, history.withRun(history.run().withAgain(last))));
        }
    }

    /** Has those launched once more that have completed; whoever runs is left alone. */
    default void launchCompleted(ImmutableList<WorkloadId> ids) {
        for (WorkloadId id : ids) {
            WorkloadHistory history = history(id);
            Completed completed = history.run().completed();
            if (completed != null) {
                commit(Change.ofHistory(id, history.withRun(history.run().withAgain(completed.launchId()))));
            }
        }
    }

    /** A workload with the PATH or file it came from. */
    record ToApply(CanonicalDocument document, String origin) {
        public ToApply(Workload workload, String origin) {
            this(CanonicalDocument.of(workload), origin);
        }

        public Workload workload() {
            return document.workload();
        }

        /**
         * As it will be stored.
         *
         * @param before what the same source declares of the workload now; null when it does not
         */
        public StoredDeclaration stored(SourceName source, @Nullable StoredDeclaration before) {
            long generation =
                    before == null ? 1 : before.generation() + (document.hash().equals(before.hash()) ? 0 : 1);
            return new StoredDeclaration(source, workload(), origin, generation, document.hash(), document.length());
        }
    }

    /**
     * What one look or step added to what is remembered of a workload; stored as a whole or not at all.
     *
     * @param history null when it stays as it is
     * @param dropHistory whether nothing is left of the workload, so that its history (not its events) is forgotten
     * @param instances launches that are new or have changed
     * @param ended ids of launches that are over
     * @param events oldest first
     */
    record Change(
            WorkloadId workload,
            @Nullable WorkloadHistory history,
            boolean dropHistory,
            ImmutableList<Instance> instances,
            ImmutableList<String> ended,
            ImmutableList<Event> events) {

        public static Change ofHistory(WorkloadId workload, WorkloadHistory history) {
            return new Change(workload, history, false, ImmutableList.of(), ImmutableList.of(), ImmutableList.of());
        }

        /** Forgets an instance. */
        public static Change ofEnd(Instance instance) {
            return of(instance.workload(), ImmutableList.of(), ImmutableList.of(instance.launchId()));
        }

        public static Change ofInstance(Instance instance) {
            return of(instance.workload(), ImmutableList.of(instance), ImmutableList.of());
        }

        private static Change of(WorkloadId id, ImmutableList<Instance> instances, ImmutableList<String> ended) {
            return new Change(id, null, false, instances, ended, ImmutableList.of());
        }

        public Change withEvents(ImmutableList<Event> others) {
            return new Change(workload, history, dropHistory, instances, ended, others);
        }

        public Change at(Instant time) {
            return events.isEmpty()
                    ? this
                    : withEvents(events.stream()
                            .map(event -> event.withTime(time))
                            .collect(ImmutableList.toImmutableList()));
        }

        public boolean isEmpty() {
            return history == null && !dropHistory && instances.isEmpty() && ended.isEmpty() && events.isEmpty();
        }
    }

    /**
     * What one message of the control plane changes; stored as a whole or not at all.
     *
     * @param declared by {@link SourceName#CONTROL_PLANE} from now on, each workload at most once
     * @param withdrawn by it; none of them is declared
     * @param histories that change
     * @param events oldest first
     * @param withheld how many refused items have no event, because there were too many
     */
    record ControlPlaneChange(
            ImmutableList<ToApply> declared,
            ImmutableSet<WorkloadId> withdrawn,
            ImmutableMap<WorkloadId, WorkloadHistory> histories,
            ImmutableList<Event> events,
            int withheld) {

        /** One without withheld items. */
        public ControlPlaneChange(
                ImmutableList<ToApply> declared,
                ImmutableSet<WorkloadId> withdrawn,
                ImmutableMap<WorkloadId, WorkloadHistory> histories,
                ImmutableList<Event> events) {
            this(declared, withdrawn, histories, events, 0);
        }

        public ControlPlaneChange {
            ImmutableSet<WorkloadId> ids =
                    declared.stream().map(one -> one.workload().id()).collect(ImmutableSet.toImmutableSet());
            if (ids.size() != declared.size()
                    || !Sets.intersection(ids, withdrawn).isEmpty()) {
                throw new IllegalArgumentException("a workload is declared twice, or withdrawn as well: " + ids);
            }
        }
    }

    /**
     * Everything that a source says now.
     *
     * @param documents each workload at most once
     * @param retainedOrigins what can't be read now: what was stored from there stays in force
     * @param problems of this source; empty when all of it could be read
     */
    record SourceContent(
            SourceName source,
            ImmutableList<ToApply> documents,
            ImmutableSet<String> retainedOrigins,
            ImmutableList<SourceProblem> problems) {

        public SourceContent {
            Set<WorkloadId> ids = new HashSet<>();
            for (ToApply document : documents) {
                if (!ids.add(document.workload().id())) {
                    throw new IllegalArgumentException(
                            source.word() + " declares " + document.workload().id() + " twice");
                }
            }
            for (SourceProblem problem : problems) {
                if (problem.source() != source) {
                    throw new IllegalArgumentException(
                            "a problem of " + problem.source().word() + " in what " + source.word() + " says");
                }
            }
        }

        /** The same, and what was stored from these origins stays in force, too. */
        public SourceContent retaining(Set<String> origins) {
            return new SourceContent(
                    source,
                    documents,
                    Stream.concat(retainedOrigins.stream(), origins.stream()).collect(ImmutableSet.toImmutableSet()),
                    problems);
        }
    }
}
