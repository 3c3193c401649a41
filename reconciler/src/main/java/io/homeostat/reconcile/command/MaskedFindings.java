package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
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
final class MaskedFindings {
    private MaskedFindings() {}

    /** The same with the secrets of the workload masked in its own words. */
    static Finding of(Finding finding) {
        Situation situation = finding.situation();
        if (!(situation.seen().instances() instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances))
                || instances.stream().noneMatch(MaskedFindings::hasSpoken)) {
            return finding;
        }
        Declaration declared = situation.declared();
        LastKnownGood lastKnownGood = situation.history().lastKnownGood();
        SecretMask mask = DeclaredSecrets.given(Stream.of(
                        Stream.ofNullable(declared).map(Declaration::workload),
                        Stream.ofNullable(lastKnownGood).map(LastKnownGood::workload))
                .flatMap(one -> one)
                .toArray(Workload[]::new));
        ImmutableList<ObservedInstance> masked = instances.stream()
                .map(instance -> hasSpoken(instance) ? masked(instance, mask) : instance)
                .collect(ImmutableList.toImmutableList());
        return new Finding(
                finding.remembered(), situation.withSeen(situation.seen().withInstances(masked)), finding.plan());
    }

    private static boolean hasSpoken(ObservedInstance instance) {
        return instance.liveness() instanceof Running running
                && running.health() != null
                && !running.health().results().isEmpty();
    }

    private static ObservedInstance masked(ObservedInstance instance, SecretMask mask) {
        Running running = (Running) instance.liveness();
        Health health = running.health();
        Health masked = health == null
                ? null
                : new Health(
                        health.verdict(),
                        health.code(),
                        health.results().stream().map(mask::mask).collect(ImmutableList.toImmutableList()),
                        mask.mask(health.problem()),
                        health.checkedAt());
        return new ObservedInstance(
                instance.instance(),
                instance.remembered(),
                new Running(running.identity(), running.age(), running.listening(), masked, running.lost()));
    }
}
