package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts.HostFact;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/** What is true of the fake machine as a whole, and what of it nobody can find out for now. */
final class FakeHost {
    static final ImmutableList<HostFact> FACTS =
            ImmutableList.of(new HostFact(Rule.Scope.METADATA, "role"), new HostFact(Rule.Scope.OS, "ID"));

    /** What each of them may be; and it may be absent. */
    static final ImmutableList<String> VALUES = ImmutableList.of("blue", "red");

    private final Map<HostFact, String> known = new HashMap<>();
    private final Set<HostFact> hidden = new HashSet<>();

    void set(HostFact fact, Optional<String> value) {
        known.remove(fact);
        value.ifPresent(present -> known.put(fact, present));
    }

    void hide(HostFact fact) {
        hidden.add(fact);
    }

    void show(HostFact fact) {
        hidden.remove(fact);
    }

    /** @param silent which of them can't be found out just now, besides */
    ImmutableMap<HostFact, Observation<Optional<String>>> answers(
            ImmutableSet<HostFact> asked, Predicate<HostFact> silent) {
        ImmutableMap.Builder<HostFact, Observation<Optional<String>>> answers = ImmutableMap.builder();
        for (HostFact fact : asked) {
            boolean unseen = silent.test(fact) || hidden.contains(fact);
            answers.put(
                    fact,
                    unseen ? Observation.unseen("no answer") : Observation.seen(Optional.ofNullable(known.get(fact))));
        }
        return answers.buildOrThrow();
    }
}
