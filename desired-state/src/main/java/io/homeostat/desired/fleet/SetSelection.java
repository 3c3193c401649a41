package io.homeostat.desired.fleet;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.model.RolloutSpec;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.yaml.Choice;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Which documents of a published set are for one machine: by their placement, and of workloads that are in a rollout by whether it is
 * this machine's turn.
 *
 * @param labels of this machine
 * @param instanceId by which its turn goes
 * @param registeredAt the store's revision in which the machine was registered with its labels; empty when it was not yet
 * @param states how rollouts stand, by their names, as far as that was ever heard of
 * @param inForce the revisions that the source of the set declares here now: a machine keeps what it has while nobody says otherwise
 */
public record SetSelection(
        MachineLabels labels,
        String instanceId,
        OptionalLong registeredAt,
        ImmutableMap<String, RolloutState> states,
        ImmutableMap<WorkloadId, String> inForce)
        implements Choice {
    /** The most characters of the JSON of one rollout's state; the controller writes some hundred. */
    static final int LONGEST_STATE = 16 << 10;

    private static final RecordCodec CODEC = new RecordCodec(new ObjectMapper());

    /**
     * Returns the selection for a machine by what is stored there.
     *
     * @param states of rollouts ({@link #states}), which all sources share: together they may be large
     */
    public static SetSelection of(
            StateReader store,
            ImmutableMap<String, RolloutState> states,
            SourceName source,
            MachineLabels labels,
            String instanceId) {
        return new SetSelection(
                labels,
                instanceId,
                store.registeredAt(labels.labels()),
                states,
                store.declarations().stream()
                        .filter(declaration -> declaration.source() == source)
                        .collect(ImmutableMap.toImmutableMap(
                                declaration -> declaration.workload().id(),
                                declaration -> declaration.workload().revision())));
    }

    /** Reads the states of rollouts from JSON, by the names of the rollouts; those that can't be read are left out. */
    public static ImmutableMap<String, RolloutState> states(Map<String, String> json) {
        ImmutableMap.Builder<String, RolloutState> states = ImmutableMap.builder();
        json.forEach((name, state) -> {
            try {
                states.put(name, parsed(state));
            } catch (IllegalArgumentException e) {
                // The agent has said so when it heard it.
            }
        });
        return states.buildOrThrow();
    }

    /** Reads the state of a rollout from JSON; throws an IllegalArgumentException that says why it can't be. */
    public static RolloutState parsed(String json) {
        if (json.length() > LONGEST_STATE) {
            throw new IllegalArgumentException("it has more than " + LONGEST_STATE + " characters");
        }
        return CODEC.read(RolloutState.class, json);
    }

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
        boolean admitted = isAdmitted(workload.id(), rollout, state);
        String turn = admitted ? rollout.spec().to() : rollout.spec().from();
        return workload.revision().equals(turn)
                ? Verdict.APPLIES
                : new Verdict.NotHere(
                        Optional.of(rollout.name()),
                        "rollout " + rollout.name() + ": "
                                + (admitted ? "this machine has revision '" + turn + "'" : waits(rollout, state)));
    }

    /**
     * A machine that has the new revision keeps it unless somebody has said that all go back: a state that was lost, or a rollout that was
     * changed on the way, begins anew, and must not send back thousands of machines for that.
     */
    private boolean isAdmitted(WorkloadId id, Rollout rollout, @Nullable RolloutState state) {
        boolean hasIt = rollout.spec().to().equals(inForce.get(id));
        if (state == null) {
            return hasIt;
        }
        return state.phase() != Phase.ROLLED_BACK
                && (hasIt
                        || (state.letsIn() && state.admits(rollout, instanceId, registeredAt.orElse(Long.MAX_VALUE))));
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
                + (!state.letsIn()
                        ? ""
                        : registeredAt.isEmpty()
                                ? ", and this machine is not registered with its labels yet"
                                : registeredAt.getAsLong() > state.asOf()
                                        ? ", and this machine came, or got its labels, after that was decided"
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
