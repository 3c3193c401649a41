package io.homeostat.desired.platform;

import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The machine that a state directory belongs to, as it was known when the directory was last claimed. A disk can be copied or mounted
 * elsewhere, so the state alone never says on which machine it is.
 *
 * @param id names the directory with the machine's state. Never changes for the same machine, whatever else becomes known of it: the
 *     paths of running processes contain it
 * @param machineId from the operating system; empty if it has none
 * @param metadataId from the metadata server; empty if it has never answered
 * @param bootId of the boot in which the directory was claimed last
 */
public record MachineIdentity(String id, String machineId, String metadataId, String bootId) {
    private static final String NO_ID = "local";

    /** How long a clone waits for a slow network to find out that it is one. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final Pattern VALID = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,127}");

    /** Asks the metadata server for this machine's id. */
    @FunctionalInterface
    public interface Question {
        /** Asks at least once, and again until there is an answer or the time is up; empty if there was none. */
        Optional<String> ask(Duration patience) throws InterruptedException;
    }

    /**
     * Determines which machine this is.
     *
     * @param last the machine that the state directory belonged to; null if it is new
     * @param configured the id set in agent.yaml; null if it is to be found out
     * @param machineId empty if there is none
     * @param olderState whether there is unclaimed state under the machine id, left by a version that did not claim directories
     */
    public static MachineIdentity determine(
            @Nullable MachineIdentity last,
            @Nullable String configured,
            String machineId,
            String bootId,
            boolean olderState,
            Question metadata)
            throws InterruptedException {
        if (last == null) {
            return first(configured, machineId, bootId, olderState, metadata);
        }
        if (configured != null) {
            return configured.equals(last.id)
                    ? last.seenIn(bootId, machineId, "")
                    : new MachineIdentity(configured, machineId, "", bootId);
        }
        boolean sameBoot = last.bootId.equals(bootId);
        // Waiting helps only at boot, while the network is slow, and if there is a former id to contradict.
        String answer = asked(metadata, sameBoot || last.metadataId.isEmpty() ? Duration.ZERO : PATIENCE);
        return last.isContradictedBy(machineId, answer, sameBoot)
                ? new MachineIdentity(chosen(answer, machineId), machineId, answer, bootId)
                : last.seenIn(bootId, machineId, answer);
    }

    private static MachineIdentity first(
            @Nullable String configured, String machineId, String bootId, boolean olderState, Question metadata)
            throws InterruptedException {
        if (configured != null) {
            return new MachineIdentity(configured, machineId, "", bootId);
        }
        String answer = asked(metadata, Duration.ZERO);
        return new MachineIdentity(olderState ? machineId : chosen(answer, machineId), machineId, answer, bootId);
    }

    private MachineIdentity seenIn(String boot, String machine, String metadata) {
        return new MachineIdentity(
                id, machine.isEmpty() ? machineId : machine, metadata.isEmpty() ? metadataId : metadata, boot);
    }

    /**
     * Two answers of the metadata server decide; without them the machine ids do. A machine id can be regenerated, so within a boot it
     * decides nothing where the metadata server has answered before.
     */
    private boolean isContradictedBy(String machine, String answer, boolean sameBoot) {
        if (!answer.isEmpty() && !metadataId.isEmpty()) {
            return !answer.equals(metadataId);
        }
        if (sameBoot && !metadataId.isEmpty()) {
            return false;
        }
        return !machine.isEmpty() && !machineId.isEmpty() && !machine.equals(machineId);
    }

    private static String chosen(String answer, String machineId) {
        if (!answer.isEmpty()) {
            return answer;
        }
        return machineId.isEmpty() ? NO_ID : machineId;
    }

    /** An answer that can't name a directory counts as none. */
    private static String asked(Question metadata, Duration patience) throws InterruptedException {
        return metadata.ask(patience).filter(id -> VALID.matcher(id).matches()).orElse("");
    }
}
