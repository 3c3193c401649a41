package io.homeostat.observe.host;

import com.google.common.collect.ImmutableMap;
import io.homeostat.observe.Observation;
import java.util.Optional;

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
}
