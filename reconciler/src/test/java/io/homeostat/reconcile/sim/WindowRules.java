package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.MaintenanceWindow;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.install.Installation;
import io.homeostat.reconcile.plan.Step;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What must hold of changes of what was seen well, while its maintenance window is closed. */
final class WindowRules {
    private final DeclaredSnapshot asked;
    private final FakeStore store;
    private final FakeDisk disk;
    private final VirtualClock clock;
    /** When the pass under way looked, by the clock that the agent goes by. */
    private Instant since = Instant.EPOCH;

    WindowRules(DeclaredSnapshot asked, FakeStore store, FakeDisk disk, VirtualClock clock) {
        this.asked = asked;
        this.store = store;
        this.disk = disk;
        this.clock = clock;
    }

    void looked() {
        since = clock.instant();
    }

    void beforeAny(Step step) {
        WorkloadId id = step.workload();
        LastKnownGood lastKnownGood = store.remembered(id).lastKnownGood();
        Declaration declared = asked.answer(id)
                .filter(answer -> !OneShotChecks.isOneShot(answer))
                .filter(answer -> lastKnownGood != null && !lastKnownGood.hash().equals(answer.hash()))
                .orElse(null);
        Optional<Instant> opens = opens(declared);
        if (declared == null || lastKnownGood == null || opens.isEmpty()) {
            return;
        }
        boolean changes = switch (step) {
            case Step.Launch launch -> launch.hash().equals(declared.hash()) && !runsMeanwhile(declared);
            case Step.Stop stop ->
                stop.cause() == Step.Stop.Cause.REPLACED && isWell(stop.instance()) && !isAskedFor(stop.instance());
            case Step.ApplyConfig apply ->
                !hasBegun(declared)
                        && isOnlyOf(config(declared.workload()), config(lastKnownGood.workload()), apply.config());
            case Step.SetLimits limit ->
                !hasBegun(declared)
                        && isOnlyOf(limits(declared.workload()), limits(lastKnownGood.workload()), limit.limits());
            default -> false;
        };
        Invariant.CHANGED_ONLY_IN_ITS_WINDOW.require(
                !changes, () -> step + " at " + since + ", its window opens at " + opens.get());
    }

    private Optional<Instant> opens(@Nullable Declaration declared) {
        MaintenanceWindow window =
                declared == null ? null : declared.workload().lifecycle().maintenanceWindow();
        return window == null ? Optional.empty() : window.opensAfter(since);
    }

    /** Whether it was rolled back and runs on, or again, until what takes its place is here. */
    private boolean runsMeanwhile(Declaration declared) {
        return store.remembered(declared.id())
                .undone(declared.hash())
                .filter(undone -> undone.replacedAt() == null)
                .map(FailedRevision::meanwhile)
                .filter(good -> good.hash().equals(declared.hash()))
                .isPresent();
    }

    /** Whether somebody wants it to be launched again, at any time. */
    private boolean isAskedFor(Instance instance) {
        return instance.launchId()
                .equals(store.remembered(instance.workload()).run().again());
    }

    /** Whether it has started, is not as is declared now, and neither sick as far as is known nor without its files. */
    boolean isWell(Instance instance) {
        WorkloadId id = instance.workload();
        String directory = instance.directory();
        Installation files = directory == null ? null : disk.installs(id).get(directory);
        boolean whole = directory == null || (files != null && files.isWhole());
        return asked.answer(id)
                .filter(declared -> !instance.target().equals(declared.hash()))
                .filter(declared -> store.remembered(id).run().healthFailures()
                        < declared.workload().lifecycle().health().failureThreshold())
                .filter(declared -> instance.phase() == Phase.STARTED && whole)
                .isPresent();
    }

    /** A change that has begun is brought to its end. */
    private boolean hasBegun(Declaration declared) {
        return store.instances(declared.id()).stream()
                .filter(instance -> !instance.isOver())
                .anyMatch(instance -> instance.target().equals(declared.hash()));
    }

    private static boolean isOnlyOf(@Nullable Object declared, @Nullable Object lastKnownGood, @Nullable Object given) {
        return Objects.equals(given, declared) && !Objects.equals(given, lastKnownGood);
    }

    private static @Nullable Config config(Workload workload) {
        return workload.spec() instanceof PluginSpec plugin ? plugin.config() : null;
    }

    private static Limits limits(Workload workload) {
        return workload.lifecycle().limits();
    }
}
