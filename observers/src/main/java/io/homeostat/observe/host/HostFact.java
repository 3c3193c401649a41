package io.homeostat.observe.host;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.lifecycle.Rule;
import org.jspecify.annotations.Nullable;

/**
 * A fact about this host that a rule asks for.
 *
 * @param attribute as in the rule: a key of os-release for scope os, else a path of the metadata server
 */
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
