package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.observe.Observer;
import io.homeostat.reconcile.logs.LogTails;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.status.Survey;
import io.homeostat.reconcile.status.Survey.Finding;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How all plugins are. While the agent starts, callers wait until the loop has looked at each of them once: otherwise a machine that has
 * just booted would be reported as running nothing.
 */
final class PluginSurvey implements PassListener {
    private static final Logger LOG = LoggerFactory.getLogger(PluginSurvey.class);
    static final Duration PATIENCE = Duration.ofSeconds(30);

    private final DeclaredState declared;
    private final StateReader store;
    private final Observer observer;
    private final LogTails logs;
    private final InstantSource clock;
    private final Duration patience;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition another = lock.newCondition();
    private final Set<WorkloadId> looked = new HashSet<>();
    private boolean complete;
    private final Map<WorkloadId, Step> underWay = new ConcurrentHashMap<>();

    /** @param patience how long to wait for the loop, before answering with what can be seen without it */
    PluginSurvey(
            DeclaredState declared,
            StateReader store,
            Observer observer,
            LogTails logs,
            InstantSource clock,
            Duration patience) {
        this.declared = declared;
        this.store = store;
        this.observer = observer;
        this.logs = logs;
        this.clock = clock;
        this.patience = patience;
    }

    ImmutableList<Finding> plugins() throws InterruptedException {
        awaitFirst();
        Survey.Findings findings = new Survey(observer, Survey.Memory.of(store), logs, this::underWay, clock)
                .everything(declared.now(), Situations.Depth.HEALTH, PluginSurvey::isReported);
        findings.blind().forEach(why -> LOG.warn("not all of the machine can be seen: {}", why));
        return findings.workloads();
    }

    /** The step that is being done to a workload of any kind. */
    Optional<Step> underWay(WorkloadId id) {
        return Optional.ofNullable(underWay.get(id));
    }

    /** Once all have been looked at nobody waits any more, not even for plugins that are declared later. */
    private void awaitFirst() throws InterruptedException {
        long left = patience.toNanos();
        lock.lock();
        try {
            while (!complete && !looked.containsAll(reported(declared))) {
                if (left <= 0) {
                    LOG.warn(
                            "the loop has not been at every plugin within {} s; how they are is told without it",
                            patience.toSeconds());
                    break;
                }
                left = another.awaitNanos(left);
            }
            complete = true;
            looked.clear();
        } finally {
            lock.unlock();
        }
    }

    private static ImmutableSet<WorkloadId> reported(DeclaredState declared) {
        return declared.now().declarations().keySet().stream()
                .filter(PluginSurvey::isReported)
                .collect(ImmutableSet.toImmutableSet());
    }

    private static boolean isReported(WorkloadId id) {
        return id.kind().isReported();
    }

    @Override
    public void starting(Step step) {
        // A step comes after a look, and the look counts when the pass is over.
        underWay.put(step.workload(), step);
    }

    @Override
    public void finished(WorkloadId id, PassResult next) {
        note(id);
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        note(id);
    }

    private void note(WorkloadId id) {
        underWay.remove(id);
        lock.lock();
        try {
            if (!complete && looked.add(id)) {
                another.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }
}
