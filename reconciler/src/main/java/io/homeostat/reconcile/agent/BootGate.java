package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableSortedSet;
import com.google.common.collect.Ordering;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens once every boot-critical workload is up or has failed: the machine's boot waits for it. What failed is still retried. */
final class BootGate implements PassListener {
    private static final Logger LOG = LoggerFactory.getLogger(BootGate.class);

    private final Set<WorkloadId> awaited = new TreeSet<>();
    private Runnable whenOpen = () -> {};

    /** The workloads that the boot waits for. */
    static ImmutableSortedSet<WorkloadId> critical(DesiredState desired) {
        return desired.declarations().values().stream()
                .map(Declaration::workload)
                .filter(workload -> workload.lifecycle().execution().bootCritical())
                .map(Workload::id)
                .collect(ImmutableSortedSet.toImmutableSortedSet(Ordering.natural()));
    }

    /** Before any pass is begun; with nothing to wait for it opens at once. */
    synchronized void await(Collection<WorkloadId> critical, Runnable then) {
        awaited.addAll(critical);
        whenOpen = then;
        openIfNothingIsAwaited();
    }

    synchronized void open() {
        if (!awaited.isEmpty()) {
            LOG.warn("the boot goes on without {}: not up in time", awaited);
            awaited.clear();
            openIfNothingIsAwaited();
        }
    }

    @Override
    public synchronized void finished(WorkloadId id, PassResult next) {
        switch (next) {
            case PassResult.Settled settled -> pass(id, "");
            case PassResult.UnderWay underWay -> {
                // Another pass follows when it is over.
            }
            case PassResult.Again again -> {
                // Another pass follows at once.
            }
            case PassResult.Later later -> {
                switch (later.until().kind()) {
                    case PROGRESS -> {
                        // Another pass follows when it is due.
                    }
                    case RETRY, DECLARATION -> pass(id, later.until().why());
                }
            }
        }
    }

    @Override
    public synchronized void broken(WorkloadId id, Throwable problem) {
        pass(id, String.valueOf(problem.getMessage()));
    }

    private void pass(WorkloadId id, String failure) {
        if (!awaited.remove(id)) {
            return;
        }
        if (!failure.isEmpty()) {
            LOG.warn("the boot goes on without {}: {}", id, failure);
        }
        openIfNothingIsAwaited();
    }

    private void openIfNothingIsAwaited() {
        if (awaited.isEmpty()) {
            whenOpen.run();
        }
    }
}
