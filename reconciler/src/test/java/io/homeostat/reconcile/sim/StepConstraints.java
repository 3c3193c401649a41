package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import org.jspecify.annotations.Nullable;

/** What must hold of steps for the sake of others, of the time of the day, and of the machine that they are done on. */
final class StepConstraints {
    private final DeclaredSnapshot asked;
    private final OrderRules order;
    private final WindowRules windows;
    private final EnablementRules rulings = new EnablementRules();
    /** Of the pass under way. */
    private @Nullable WorkloadId looking;

    StepConstraints(
            DeclaredSnapshot asked, FakeDisk disk, FakeProcesses processes, FakeStore store, VirtualClock clock) {
        this.asked = asked;
        this.order = new OrderRules(asked, store, processes, clock);
        this.windows = new WindowRules(asked, store, disk, clock);
    }

    /** A pass has looked at the workload. */
    void looked(WorkloadId id) {
        looking = id;
        order.looked(id);
        windows.looked();
    }

    /** It has been told this of the machine, and is about to plan. */
    void told(HostFacts host) {
        WorkloadId id = looking;
        if (id != null) {
            rulings.told(id, asked.answer(id).orElse(null), host);
        }
    }

    /** It has come to its end: all that it found out is written down. */
    void finished(WorkloadId id) {
        order.finished(id);
        rulings.finished(id);
    }

    /** This is planned for it. */
    void planned(WorkloadId id, WorkloadPlan plan) {
        order.planned(id, plan);
    }

    /** Whether what it is part of waits for its end. */
    boolean isAwaited(WorkloadId part) {
        return order.isAwaited(part);
    }

    /** The database is lost. */
    void forget() {
        rulings.forget();
    }

    void beforeAny(Step step) {
        windows.beforeAny(step);
        if (step instanceof Step.Stop stop) {
            beforeStop(stop);
        }
    }

    private void beforeStop(Step.Stop step) {
        order.beforeStop(step);
        switch (step.cause()) {
            case REMOVED -> order.beforeRemoval(step);
            case DISABLED -> rulings.beforeDisabling(step);
            case REPLACED -> {
                if (windows.isWell(step.instance())) {
                    order.beforeReplacement(step);
                }
            }
            default -> {
                // Waits for nobody.
            }
        }
    }

    void beforeLaunch(Step.Launch step) {
        order.beforeLaunch(step);
        rulings.beforeLaunch(step);
    }
}
