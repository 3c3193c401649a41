package io.homeostat.reconcile.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMultiset;
import io.homeostat.desired.fleet.RolloutState;
import java.time.Instant;
import java.util.Optional;

/**
 * What is decided of a rollout, and how it stands.
 *
 * @param state the same as before when nothing changes
 * @param waves each with the machines that it lets in, if no more come and none goes
 * @param standings how all machines fare, in the order of the situation's members
 * @param failures how many machines whose turn it was have failed
 * @param bound how many may, beside those that were forgiven
 * @param examples of those that have failed, or are waited for
 * @param waitsFor what has to happen before the next wave opens, for people; empty when none will
 * @param lookAgain when time alone may change something
 */
public record RolloutPlan(
        RolloutState state,
        ImmutableList<Wave> waves,
        ImmutableList<Standing> standings,
        int failures,
        int bound,
        ImmutableList<Example> examples,
        String waitsFor,
        Optional<Instant> lookAgain) {

    /** How the machines of a wave fare. */
    public record Wave(ImmutableMultiset<Standing.Kind> machines) {}

    /** A machine that holds it up. */
    public record Example(String machine, Standing standing) {}
}
