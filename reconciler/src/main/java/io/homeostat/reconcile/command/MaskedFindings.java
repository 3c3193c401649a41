package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.MaskedHealth;
import io.homeostat.reconcile.secrets.SecretMask;
import io.homeostat.reconcile.status.Survey.Finding;
import java.util.function.Function;
import java.util.stream.Stream;

/** What commands may show of findings: workloads put what they were given, such as passwords, into what they report of their health. */
public final class MaskedFindings {
    private MaskedFindings() {}

    /**
     * The same with the secrets of the workload masked in its own words. What it was given before counts: a plugin of which the
     * configuration was taken out of its declaration may go on with it.
     *
     * @param revisions the declarations of a workload that were acted on
     */
    static Finding of(Finding finding, Function<WorkloadId, ImmutableList<StoredRevision>> revisions) {
        Situation situation = finding.situation();
        if (!(situation.seen().instances() instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances))
                || instances.stream().noneMatch(MaskedFindings::hasSpoken)) {
            return finding;
        }
        Declaration declared = situation.declared();
        SecretMask mask = DeclaredSecrets.everGiven(
                declared == null ? Stream.empty() : Stream.of(declared.workload()),
                situation.history(),
                revisions.apply(situation.id()));
        ImmutableList<ObservedInstance> masked = instances.stream()
                .map(instance -> hasSpoken(instance) ? masked(instance, mask) : instance)
                .collect(ImmutableList.toImmutableList());
        return finding.withSituation(situation.withSeen(situation.seen().withInstances(masked)));
    }

    /** A mask of what a workload may have been given, for what it answers. */
    public static SecretMask mask(WorkloadId id, StateReader reader) {
        Stream<Workload> declared = reader.declarations().stream()
                .map(StoredDeclaration::workload)
                .filter(workload -> workload.id().equals(id));
        return DeclaredSecrets.everGiven(declared, reader.history(id), reader.revisions(id));
    }

    private static boolean hasSpoken(ObservedInstance instance) {
        return instance.liveness() instanceof Running running
                && running.health() != null
                && !running.health().results().isEmpty();
    }

    private static ObservedInstance masked(ObservedInstance instance, SecretMask mask) {
        Running running = (Running) instance.liveness();
        Health health = running.health();
        return new ObservedInstance(
                instance.instance(),
                instance.remembered(),
                running.withHealth(health == null ? null : MaskedHealth.masked(health, mask)));
    }
}
