package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Execution.State;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.plan.Step;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Whether each workload is to run, by what its rules were told; found in another way than the agent does. */
final class EnablementRules {
    /** By what the pass under way was told. */
    private final Map<WorkloadId, Optional<State>> now = new HashMap<>();
    /** What the agent may remember: the decision of the last pass that came to its end, and those that did not since. */
    private final Map<WorkloadId, Set<State>> remembered = new HashMap<>();

    /** A pass has been told this, and is about to plan. */
    void told(WorkloadId id, @Nullable Declaration declared, HostFacts host) {
        if (declared == null) {
            now.remove(id);
            return;
        }
        Optional<State> decided = of(declared, host);
        now.put(id, decided);
        decided.ifPresent(state -> remembered(id).add(state));
    }

    void finished(WorkloadId id) {
        now.getOrDefault(id, Optional.empty()).ifPresent(state -> remembered.put(id, EnumSet.of(state)));
    }

    /** The database is lost. */
    void forget() {
        remembered.clear();
    }

    void beforeLaunch(Step.Launch step) {
        requireDecided(step, State.ENABLED);
    }

    void beforeDisabling(Step.Stop step) {
        requireDecided(step, State.DISABLED);
    }

    private void requireDecided(Step step, State state) {
        Optional<State> decided = now.get(step.workload());
        if (decided == null) {
            // An example without a World tells of no looks.
            return;
        }
        Invariant.THE_UNKNOWN_CHANGES_NOTHING.require(
                decided.map(state::equals)
                        .orElseGet(() -> remembered(step.workload()).contains(state)),
                () -> step + " although " + decided + " by its rules, before that " + remembered(step.workload()));
    }

    private Set<State> remembered(WorkloadId id) {
        return remembered.computeIfAbsent(id, any -> EnumSet.noneOf(State.class));
    }

    /** The state to which everything that may be true leads; empty when there are two. */
    static Optional<State> of(Declaration declared, HostFacts host) {
        Execution execution = declared.workload().lifecycle().execution();
        Set<State> possible = EnumSet.noneOf(State.class);
        collect(execution, host, 0, new boolean[execution.rules().size()], possible);
        return possible.size() == 1 ? possible.stream().findFirst() : Optional.empty();
    }

    /** Decides the rules from one of them on, each in every way that what is known of its fact leaves. */
    private static void collect(Execution execution, HostFacts host, int from, boolean[] holds, Set<State> possible) {
        if (from == holds.length) {
            possible.add(matches(execution, holds) ? execution.onMatch() : execution.defaultState());
            return;
        }
        Rule rule = execution.rules().get(from);
        values(host.get(HostFact.of(rule))).forEach(value -> {
            holds[from] = holds(rule, value);
            collect(execution, host, from + 1, holds, possible);
        });
    }

    private static Stream<Optional<String>> values(Observation<Optional<String>> fact) {
        return switch (fact) {
            case Observation.Seen<Optional<String>>(Optional<String> value) -> Stream.of(value);
            case Observation.Unseen<Optional<String>> unseen ->
                Stream.concat(
                        Stream.of(Optional.empty()), FakeHost.VALUES.stream().map(Optional::of));
        };
    }

    private static boolean holds(Rule rule, Optional<String> fact) {
        return switch (rule.operator()) {
            case EQUAL -> fact.equals(Optional.of(rule.value()));
            case NOT_EQUAL -> !fact.equals(Optional.of(rule.value()));
            case CONTAINS -> fact.orElse("").contains(rule.value());
        };
    }

    private static boolean matches(Execution execution, boolean[] holds) {
        int yes = 0;
        for (boolean one : holds) {
            yes += one ? 1 : 0;
        }
        return holds.length > 0 && (execution.match() == Execution.Match.ALL ? yes == holds.length : yes > 0);
    }
}
