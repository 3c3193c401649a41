package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Dependencies;
import io.homeostat.desired.model.Lifecycle.Execution.State;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.plan.Traits;
import java.util.Optional;
import java.util.stream.Stream;

/** Which declarations can be brought about on a machine on which nothing goes wrong any more. */
final class Achievability {
    private final Declarations desired;
    private final FakeMachine machine;

    Achievability(Declarations desired, FakeMachine machine) {
        this.desired = desired;
        this.machine = machine;
    }

    boolean is(Condition.Type type, WorkloadId id) {
        return machine.store.history(id).conditions().stream()
                .anyMatch(condition -> condition.type() == type && condition.status() == Condition.Status.TRUE);
    }

    boolean isRolledBack(Declaration declared) {
        return machine.store
                .history(declared.id())
                .undone(declared.hash())
                .filter(FailedRevision::byRequest)
                .isPresent();
    }

    /** By its rules, all facts being known. */
    boolean isDisabled(Declaration declared) {
        return EnablementRules.of(declared, machine.observer.host(HostFact.askedBy(declared)))
                .equals(Optional.of(State.DISABLED));
    }

    /** Whether nothing is in its way but time. */
    boolean comesAbout(Declaration declared) {
        return isDisabled(declared)
                || (machine.works(declared.workload())
                        && !isRolledBack(declared)
                        && hasWhatItNeeds(declared)
                        && mayGoDown(declared));
    }

    /** Whether all that it is started after becomes well and stays so. */
    boolean hasWhatItNeeds(Declaration declared) {
        return Dependencies.of(declared.workload()).stream().allMatch(this::becomesWhatItIsToBe)
                && hasItsParent(declared.workload());
    }

    boolean hasItsParent(Workload workload) {
        return Traits.of(workload).parent().stream().allMatch(this::becomesWhatItIsToBe) && hasItsMachine(workload);
    }

    /** Whether what it runs in becomes well and runs on; of what is done, nothing is left to run in. */
    private boolean hasItsMachine(Workload workload) {
        return Traits.of(workload).hosts().stream()
                .allMatch(host -> desired.declaration(host)
                        .filter(declared ->
                                !OneShotChecks.isOneShot(declared) && !machine.completes(declared.workload()))
                        .filter(this::becomesWell)
                        .isPresent());
    }

    private boolean becomesWhatItIsToBe(WorkloadId id) {
        return becomesWell(id) && mayBeChanged(id);
    }

    /** Whether neither it, if it is to change, nor what it needs stays as it is because others are down. */
    private boolean mayBeChanged(WorkloadId id) {
        return desired.declaration(id)
                .filter(declared -> is(Condition.Type.CONVERGED, id) || mayGoDown(declared))
                .filter(declared -> needs(declared.workload()).allMatch(this::mayBeChanged))
                .isPresent();
    }

    private static Stream<WorkloadId> needs(Workload workload) {
        return Stream.concat(Dependencies.of(workload).stream(), Traits.of(workload).parent().stream());
    }

    private boolean becomesWell(WorkloadId id) {
        return desired.declaration(id).filter(this::becomesWell).isPresent();
    }

    private boolean becomesWell(Declaration declared) {
        boolean works = OneShotChecks.isOneShot(declared)
                ? is(Condition.Type.HEALTHY, declared.id())
                : machine.works(declared.workload()) && !is(Condition.Type.GIVEN_UP, declared.id());
        return works
                && !isRolledBack(declared)
                && !isDisabled(declared)
                && hasItsMachine(declared.workload())
                && needs(declared.workload()).allMatch(this::becomesWell);
    }

    /** Whether those of its group that stay down leave it a place to go down for a change. */
    boolean mayGoDown(Declaration declared) {
        MaxDisruption disruption = declared.workload().lifecycle().maxDisruption();
        ImmutableSet<WorkloadId> others = desired.now().declarations().keySet();
        return disruption == null
                || others.stream()
                                .filter(other -> !other.equals(declared.id()))
                                .flatMap(other -> desired.declaration(other).stream())
                                .filter(other -> !OneShotChecks.isOneShot(other) && !isDisabled(other))
                                .filter(other -> !becomesWell(other))
                                .count()
                        < disruption.count();
    }
}
