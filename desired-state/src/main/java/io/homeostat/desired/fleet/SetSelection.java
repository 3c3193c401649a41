package io.homeostat.desired.fleet;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.yaml.Choice;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Which documents of a published set are for one machine: by their placement, and of workloads that are in a rollout by whether it is
 * this machine's turn.
 *
 * @param labels of this machine
 * @param instanceId by which its turn goes
 * @param registeredAt the store's revision in which the machine became known there; empty when it has not
 * @param states how rollouts stand, by their names, as far as that was ever heard of
 */
public record SetSelection(
        MachineLabels labels, String instanceId, OptionalLong registeredAt, ImmutableMap<String, RolloutState> states)
        implements Choice {
    @Override
    public boolean takesRollouts() {
        return true;
    }

    @Override
    public Verdict verdict(Workload workload, @Nullable ReadRollout read) {
        Verdict placed = labels.verdict(workload, null);
        if (read == null || !(placed instanceof Verdict.Applies)) {
            return placed;
        }
        Rollout rollout = Rollout.of(read.name(), read.spec());
        RolloutState state = state(rollout);
        boolean admitted = state != null && state.admits(rollout, instanceId, registeredAt.orElse(Long.MAX_VALUE));
        String turn = admitted ? rollout.spec().to() : rollout.spec().from();
        return workload.revision().equals(turn)
                ? Verdict.APPLIES
                : new Verdict.NotHere(
                        Optional.of(rollout.name()),
                        "rollout " + rollout.name() + ": "
                                + (admitted ? "this machine has revision '" + turn + "'" : waits(rollout, state)));
    }

    /** How the rollout stands; null while nobody has said so of just this one. */
    private @Nullable RolloutState state(Rollout rollout) {
        RolloutState state = states.get(rollout.name());
        return state == null || !state.digest().equals(rollout.digest()) ? null : state;
    }

    private String waits(Rollout rollout, @Nullable RolloutState state) {
        if (state == null) {
            return "it has not begun as far as this machine has heard, so revision '"
                    + rollout.spec().from() + "' stays";
        }
        String stands = switch (state.phase()) {
            case ROLLED_BACK -> "it was rolled back";
            case HALTED -> "it has halted at " + wave(rollout.spec(), state);
            case PAUSED -> "it is paused at " + wave(rollout.spec(), state);
            case ABORTED -> "it was aborted at " + wave(rollout.spec(), state);
            case PROGRESSING, COMPLETED -> wave(rollout.spec(), state) + " is open";
        };
        String reason = state.reason().isEmpty() ? "" : " (" + state.reason() + ")";
        return stands + reason
                + (state.phase() == Phase.ROLLED_BACK
                        ? ""
                        : registeredAt.isEmpty()
                                ? ", and this machine is not registered yet"
                                : registeredAt.getAsLong() > state.asOf()
                                        ? ", and this machine came after that was decided"
                                        : ", and it is not this machine's turn")
                + ", so revision '" + rollout.spec().from() + "' stays";
    }

    private static String wave(RolloutSpec spec, RolloutState state) {
        int waves = spec.waves().size();
        return state.wave() < 0 || state.wave() >= waves
                ? "no wave"
                : "wave " + (state.wave() + 1) + " of " + waves + " ("
                        + spec.waves().get(state.wave()) + ")";
    }
}
