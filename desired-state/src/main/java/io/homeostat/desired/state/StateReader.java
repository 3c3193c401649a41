package io.homeostat.desired.state;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.yaml.Problem;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;

/** What is remembered, as it was when the last {@link StateStore.Change} was stored. Every method throws {@link StoreException} when the database can't be read. */
public interface StateReader extends AutoCloseable {
    /** What each source declares; several may declare the same workload. */
    ImmutableList<StoredDeclaration> declarations();

    /**
     * What was applied and can't be read any more, at which {@link #declarations} fails. Applying it again or deleting it does not need to
     * read it.
     */
    ImmutableSet<WorkloadId> unreadable();

    /** What could not be read of the sources when they were last looked at. */
    ImmutableList<SourceProblem> problems();

    /** The workloads that are to be left alone. */
    ImmutableList<Pause> pauses();

    Optional<Pause> pause(WorkloadId id);

    /** True once anything was declared here, even if it was deleted since. */
    boolean everDeclared();

    WorkloadHistory history(WorkloadId id);

    /** The workloads that have a history or an instance, declared or not. */
    ImmutableSet<WorkloadId> remembered();

    /** The histories of all workloads that have one. */
    ImmutableMap<WorkloadId, WorkloadHistory> histories();

    /** The newest declarations of a workload that were acted on, and the last good one, oldest first. */
    ImmutableList<StoredRevision> revisions(WorkloadId id);

    ImmutableList<Instance> instances(WorkloadId id);

    ImmutableList<Instance> instances();

    /**
     * Events with an id above {@code after}, oldest first, at most {@code limit}. They are fewer where they are long, but at least one if there
     * is any.
     */
    ImmutableList<StoredEvent> events(long after, int limit);

    /** What waits for the control plane, and what it will never hear of. */
    EventQueue eventQueue();

    /** How each source of published sets stands; one that was never asked is left out. */
    ImmutableList<StoredSet.Standing> publishedSets();

    /** The texts of the last good set of a source, by their paths in it; empty when there is none. */
    ImmutableSortedMap<String, String> publishedDocuments(SourceName source);

    /** The highest sequences that were ever taken of a source, also before it was configured anew. */
    ImmutableList<StoredSet.Highest> highestSequences(SourceName source);

    /** How rollouts stood when that was last heard, as JSON, by their names. */
    ImmutableSortedMap<String, String> rolloutStates();

    /** The revision of the fleet's store in which this machine was registered with just these labels; empty when it was not yet. */
    OptionalLong registeredAt(ImmutableSortedMap<String, String> labels);

    /** A number that is random, but always the same for this state directory; jitter grows from it. */
    long seed();

    @Override
    void close();

    /**
     * A workload as one source declares it.
     *
     * @param origin the absolute PATH that was applied, which {@code --prune} goes by, or a file
     * @param generation from 1, grows with each change by this source, even if it withdraws the workload in between
     * @param hash of the declaration
     * @param length of its document, in characters
     */
    record StoredDeclaration(
            SourceName source, Workload workload, String origin, long generation, String hash, int length) {}

    /**
     * Why something that a source reads is not in force as it stands there.
     *
     * @param place where in the origin it is: with the kind it says which problem this is, whatever its words
     * @param message where it is wrong and what would be right; without secrets
     */
    record SourceProblem(SourceName source, String origin, Problem.Kind kind, String place, String message) {
        /**
         * Whether it is in something that could be read and of which nothing has been in force before.
         *
         * @param declarations what is in force
         */
        public boolean isNew(ImmutableList<StoredDeclaration> declarations) {
            return kind != Problem.Kind.UNREADABLE
                    && declarations.stream()
                            .noneMatch(declared -> declared.source() == source
                                    && Path.of(declared.origin()).startsWith(origin));
        }
    }

    /**
     * How many events wait for the control plane, and how many it will never get.
     *
     * @param open whether events are queued, because a control plane is configured
     * @param dropped the oldest when there were too many ({@code limits.events}) or too long ones, since the queue was first opened
     * @param refused by the control plane, since the queue was first opened
     * @param withheld refused items of its messages for which there were too many to have an event each
     */
    record EventQueue(boolean open, long queued, long dropped, long refused, long withheld) {
        /** Of a machine that never had a control plane. */
        public static final EventQueue NONE = new EventQueue(false, 0, 0, 0, 0);
    }

    /**
     * A declaration that was acted on, or gone back to. What follows it with a higher number has taken its place.
     *
     * @param number from 1, never given twice as long as something is remembered of the workload
     * @param source empty when that is not known any more
     * @param triedAt since when it was acted on
     * @param launchedAt when it was launched first, and so took the place of the one before; empty when it was not, or that is not known
     * @param goodAt since when it has been known to work; empty when it is not
     * @param failedAt when it was undone; empty when it was not
     * @param error why it was undone, or did not work before another one took its place; empty when there is nothing against it
     * @param backTo number that it had when it was first acted on; empty when this is the first time
     */
    record StoredRevision(
            int number,
            String hash,
            Optional<SourceName> source,
            Workload workload,
            Instant triedAt,
            Optional<Instant> launchedAt,
            Optional<Instant> goodAt,
            Optional<Instant> failedAt,
            String error,
            Optional<Integer> backTo) {
        /** Whether it was seen to work, whatever became of it. */
        public boolean wasGood() {
            return goodAt.isPresent();
        }

        /** Number that it had when it was first acted on. */
        public int first() {
            return backTo.orElse(number);
        }

        /** When it took the place of the one before; empty when it did not. */
        public Optional<Instant> tookPlaceAt() {
            return launchedAt.or(
                    () -> goodAt.isPresent() || failedAt.isPresent() ? Optional.of(triedAt) : Optional.empty());
        }

        /** Whether it was undone, by itself or by request. */
        public boolean wasUndone() {
            return failedAt.isPresent();
        }
    }

    /** An event with its place in the sequence; ids grow by the order in which events were stored. */
    record StoredEvent(long id, Event event) {}
}
