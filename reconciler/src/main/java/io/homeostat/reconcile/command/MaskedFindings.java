package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness.Running;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.SecretMask;
import io.homeostat.reconcile.status.Survey.Finding;
import java.util.stream.Stream;

/** What commands may show of findings: workloads put what they were given, such as passwords, into what they report of their health. */
public final class MaskedFindings {
    private MaskedFindings() {}

    /** The same with the secrets of the workload masked in its own words. */
    static Finding of(Finding finding) {
        Situation situation = finding.situation();
        if (!(situation.seen().instances() instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances))
                || instances.stream().noneMatch(MaskedFindings::hasSpoken)) {
            return finding;
        }
        Declaration declared = situation.declared();
        SecretMask mask = mask(declared == null ? Stream.empty() : Stream.of(declared.workload()), situation.history());
        ImmutableList<ObservedInstance> masked = instances.stream()
                .map(instance -> hasSpoken(instance) ? masked(instance, mask) : instance)
                .collect(ImmutableList.toImmutableList());
        return new Finding(
                finding.remembered(), situation.withSeen(situation.seen().withInstances(masked)), finding.plan());
    }

    /** What a workload has answered of its health, with its secrets masked: those of what is declared now, and of what was last good. */
    public static Health of(Health answer, WorkloadId id, StateReader reader) {
        Stream<Workload> declared = reader.declarations().stream()
                .map(declaration -> declaration.workload())
                .filter(workload -> workload.id().equals(id));
        return masked(answer, mask(declared, reader.history(id)));
    }

    private static SecretMask mask(Stream<Workload> declared, WorkloadHistory history) {
        Stream<Workload> known =
                Stream.concat(declared, history.standIns().stream().map(LastKnownGood::workload));
        return DeclaredSecrets.given(known.toArray(Workload[]::new));
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
                new Running(
                        running.identity(),
                        running.age(),
                        running.listening(),
                        health == null ? null : masked(health, mask),
                        running.lost()));
    }

    private static Health masked(Health health, SecretMask mask) {
        return new Health(
                health.verdict(),
                health.code(),
                health.results().stream().map(mask::mask).collect(ImmutableList.toImmutableList()),
                mask.mask(health.problem()),
                health.checkedAt());
    }
}
