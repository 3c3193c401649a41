package io.homeostat.desired.state;

import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.yaml.CanonicalDocument;
import java.time.Instant;

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
     * are deleted. These are counted ({@link EventQueue#dropped}) and said in an event.
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
}
