package io.homeostat.desired.state;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.WorkloadHistory;
import java.util.Optional;

/** What is remembered, as it was when the last {@link Change} was stored. Every method throws {@link StoreException} when the database can't be read. */
public interface StateReader extends AutoCloseable {
    /** What each source declares; several may declare the same workload. */
    ImmutableList<StoredDeclaration> declarations();

    /** What could not be read of the sources when they were last looked at. */
    ImmutableList<SourceProblem> problems();

    /** The workloads that are to be left alone. */
    ImmutableList<Pause> pauses();

    Optional<Pause> pause(WorkloadId id);

    /** True once anything was declared here, even if it was deleted since. */
    boolean everDeclared();

    WorkloadHistory history(WorkloadId id);

    /** The histories of all workloads that have one. */
    ImmutableMap<WorkloadId, WorkloadHistory> histories();

    ImmutableList<Instance> instances(WorkloadId id);

    ImmutableList<Instance> instances();

    /** Events with an id above {@code after}, oldest first, at most {@code limit}. */
    ImmutableList<StoredEvent> events(long after, int limit);

    /** What waits for the control plane, and what it will never hear of. */
    EventQueue eventQueue();

    /** A number that is random, but always the same for this state directory; jitter grows from it. */
    long seed();

    @Override
    void close();
}
