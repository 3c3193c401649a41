package io.homeostat.observe.host;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.observe.Observation;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is true of the machine as a whole.
 *
 * @param bootId differs after every boot
 * @param instanceId of the instance that this state belongs to; differs on a clone of the disk
 * @param answers a value, none (there is no such attribute), or unseen (nobody could say), for each fact asked for
 */
public record HostFacts(
        Observation<String> bootId, String instanceId, ImmutableMap<HostFact, Observation<Optional<String>>> answers) {

    /** What is known without asking anybody. */
    public static HostFacts of(String bootId, String instanceId) {
        return new HostFacts(Observation.seen(bootId), instanceId, ImmutableMap.of());
    }

    public Observation<Optional<String>> get(HostFact fact) {
        Observation<Optional<String>> answer = answers.get(fact);
        return answer == null ? Observation.unseen("nobody was asked") : answer;
    }

    /** A fact about this host that a rule asks for: a key of os-release for scope os, else a path of the metadata server. */
    public record HostFact(Rule.Scope scope, String attribute) {
        public static HostFact of(Rule rule) {
            return new HostFact(rule.scope(), rule.attribute());
        }

        /** All facts that are needed to decide whether a workload is to run; none for one that is not declared. */
        public static ImmutableSet<HostFact> askedBy(@Nullable Declaration declared) {
            return declared == null
                    ? ImmutableSet.of()
                    : declared.workload().lifecycle().execution().rules().stream()
                            .map(HostFact::of)
                            .collect(ImmutableSet.toImmutableSet());
        }
    }
}
