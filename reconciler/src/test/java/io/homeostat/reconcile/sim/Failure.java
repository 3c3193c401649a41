package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableSet;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A history in which an invariant did not hold.
 *
 * @param faults all that struck in it
 */
record Failure(Scenario fate, Agent agent, ImmutableSet<Fault.Point> faults, Invariant.Violation violation) {

    /** Plays a history; empty when all went well. */
    static Optional<Failure> of(Scenario fate, Agent agent) {
        return of(fate, agent, null);
    }

    static Optional<Failure> of(Scenario fate, Agent agent, @Nullable ImmutableSet<Fault.Point> allowed) {
        Simulation simulation = new Simulation(fate, agent, allowed, false);
        try {
            simulation.run();
            return Optional.empty();
        } catch (Invariant.Violation violation) {
            return Optional.of(new Failure(fate, agent, ImmutableSet.copyOf(simulation.struck()), violation));
        }
    }

    /** The same failure with as little as possible around it. */
    Failure shrunk() {
        return new Shrinking(this).result();
    }

    /** For people: what broke, with which events and faults, and the story up to there. */
    String report() {
        Simulation again = new Simulation(fate, agent, faults, true);
        try {
            again.run();
        } catch (Invariant.Violation same) {
            // It is what is being told.
        }
        StringBuilder text = new StringBuilder("seed " + fate.seed() + ": " + violation.getMessage() + "\n");
        fate.moments().forEach(moment -> text.append("  ").append(moment).append('\n'));
        faults.forEach(fault -> text.append("  ").append(fault).append('\n'));
        List<String> lines = again.story();
        int from = Math.max(0, lines.size() - Integer.getInteger("simulation.lines", 100));
        lines.subList(from, lines.size()).forEach(line -> text.append(line).append('\n'));
        return text + "play it again with -Dsimulation.seed=" + fate.seed();
    }
}
