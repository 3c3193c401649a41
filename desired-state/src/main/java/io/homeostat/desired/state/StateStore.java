package io.homeostat.desired.state;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.yaml.CanonicalDocument;
import java.time.Instant;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What must be remembered. When a method returns, what it stored survives a power cut; when it throws
 * {@link StoreException}, nothing of it was stored.
 */
public interface StateStore extends StateReader {
    /** Stores one look's or step's outcome. */
    void commit(Change change);

    /**
     * Declares workloads as given to {@code apply}. A declaration that is equal to the stored one keeps its generation.
     *
     * @param origins the PATHs that were applied; with {@code prune}, what an earlier apply of these declared and
     *     {@code documents} doesn't is withdrawn
     * @return the workloads that were withdrawn
     */
    ImmutableSet<WorkloadId> apply(ImmutableCollection<ToApply> documents, ImmutableSet<String> origins, boolean prune);

    /** Withdraws applied workloads; ids that were not applied are ignored. */
    void delete(ImmutableCollection<WorkloadId> ids);

    /**
     * Replaces all that a source declares, {@link SourceName#APPLIED} excepted, which {@link #apply} and {@link #delete} change, and
     * {@link SourceName#CONTROL_PLANE}, which {@link #receive} changes.
     *
     * <p>Afterwards it declares the documents, and what it had stored from a retained origin, unless a document declares that
     * workload. An origin that has a new problem is told in an event, and one that has none any more in another. Equal content
     * writes nothing.
     *
     * @return the workloads that are declared otherwise than before, for the first time, or no longer
     */
    ImmutableSet<WorkloadId> replace(SourceContent content, Instant now);

    /**
     * Stores what one message of the control plane changes. A declaration that is equal to the stored one keeps its generation.
     *
     * @return false when the message is one of the newest thousand that were stored before, and nothing was stored: a duplicate that
     *     comes late must not undo what came after it
     */
    boolean receive(ControlPlaneChange change);

    /**
     * Has a workload left alone until it is resumed, whether it is declared or not, with an event. A workload that is paused
     * for another reason gets this one and stays paused since then.
     *
     * @return false when it was paused for this reason already, and nothing was stored
     */
    boolean pause(WorkloadId id, String reason, Instant now);

    /**
     * Has a workload stopped, and left so until it is resumed, with an event; in the place of a pause.
     *
     * @param reason for people; may be empty
     * @return false when that was so for this reason already, and nothing was stored
     */
    boolean stop(WorkloadId id, String reason, Instant now);

    /**
     * Ends a pause, or that a workload is left stopped, with an event.
     *
     * @param reason for people; may be empty
     * @return false when there was none
     */
    boolean resume(WorkloadId id, String reason, Instant now);

    /** Ends a pause without a reason. */
    default boolean resume(WorkloadId id, Instant now) {
        return resume(id, "", now);
    }

    /** Stores an event that belongs to no change. */
    void record(Event event);

    /**
     * Deletes the oldest events until {@code keep} are left; those that the control plane has yet to be told of only when all others
     * are deleted. These are counted ({@link StateReader.EventQueue#dropped}) and said in an event.
     *
     * @return how many it was not told of
     */
    int trimEvents(int keep, Instant now);

    /** What the control plane has yet to be told. */
    Outbox outbox();

    /**
     * Tries whether something could be stored: stores when that was tried, so that a disk that is full or read-only is noticed also
     * while there is nothing else to store.
     *
     * @throws StoreException when it is not possible
     */
    void checkWritable(Instant now);

    /** Has these workloads tried at once, see {@link WorkloadHistory#retriedNow}. */
    default void retryNow(ImmutableList<WorkloadId> ids) {
        for (WorkloadId id : ids) {
            WorkloadHistory history = history(id);
            WorkloadHistory next = history.retriedNow();
            if (!next.equals(history)) {
                commit(new Change(id, next, false, ImmutableList.of(), ImmutableList.of(), ImmutableList.of()));
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
    }

    /**
     * What one look or one step added to what is remembered of a workload; stored as a whole or not at all.
     *
     * @param history the new history; null when it stays as it is
     * @param dropHistory true: nothing is left of the workload, forget its history (not its events)
     * @param instances launches that are new or have changed
     * @param ended ids of launches that are over
     * @param events what happened, oldest first
     */
    record Change(
            WorkloadId workload,
            @Nullable WorkloadHistory history,
            boolean dropHistory,
            ImmutableList<Instance> instances,
            ImmutableList<String> ended,
            ImmutableList<Event> events) {

        public static Change ofInstance(Instance instance) {
            return new Change(
                    instance.workload(),
                    null,
                    false,
                    ImmutableList.of(instance),
                    ImmutableList.of(),
                    ImmutableList.of());
        }
    }

    /**
     * What one message of the control plane changes; stored as a whole or not at all.
     *
     * @param messageId as the control plane gave it; a message that was stored before changes nothing
     * @param declared what {@link SourceName#CONTROL_PLANE} declares from now on, each workload at most once
     * @param withdrawn what it declares no longer; none of them is declared
     * @param histories of workloads of which something else has to be remembered than before
     * @param events what happened, oldest first
     * @param withheld how many refused items no event tells of, because there were too many
     */
    record ControlPlaneChange(
            String messageId,
            ImmutableList<ToApply> declared,
            ImmutableSet<WorkloadId> withdrawn,
            ImmutableMap<WorkloadId, WorkloadHistory> histories,
            ImmutableList<Event> events,
            int withheld) {

        /** One all of which is told. */
        public ControlPlaneChange(
                String messageId,
                ImmutableList<ToApply> declared,
                ImmutableSet<WorkloadId> withdrawn,
                ImmutableMap<WorkloadId, WorkloadHistory> histories,
                ImmutableList<Event> events) {
            this(messageId, declared, withdrawn, histories, events, 0);
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
     * All that a source says now.
     *
     * @param documents each workload at most once
     * @param retainedOrigins what can't be read now: what was stored from there stays in force
     * @param problems what is wrong with the source, each of this source; empty when all of it could be read
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
    }
}
