package io.homeostat.observe.host;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.lifecycle.Rule;
import org.jspecify.annotations.Nullable;

/**
 * The name of something that a rule wants to know of this machine.
 *
 * @param attribute as the rule has it: with scope os a key of os-release, with the others a path of the metadata server
 */
public record HostFact(Rule.Scope scope, String attribute) {
    public static HostFact of(Rule rule) {
        return new HostFact(rule.scope(), rule.attribute());
    }

    /** All that has to be known to tell whether something is to run; nothing for what nobody declares. */
    public static ImmutableSet<HostFact> askedBy(@Nullable Declaration declared) {
        return declared == null
                ? ImmutableSet.of()
                : declared.workload().lifecycle().execution().rules().stream()
                        .map(HostFact::of)
                        .collect(ImmutableSet.toImmutableSet());
    }
}
