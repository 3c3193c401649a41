package io.homeostat.desired.platform;

import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Decides which instance this is, by what is known of the last one and by what can be known now. Another id is another instance,
 * within a boot too: state that was copied, or a disk that was mounted elsewhere, says nothing of who runs here.
 */
public final class Identification {
    /** For a machine that has no id at all: state that is kept on it is its own all the same. */
    private static final String NO_ID = "local";

    /** How long a clone may take to learn from a slow network that it is one. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final Pattern POSSIBLE = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,127}");

    /** Asks for the id that the metadata server gives this instance. */
    @FunctionalInterface
    public interface Question {
        /**
         * Asks until it is answered or the time is over; at least once.
         *
         * @return empty when nobody could say
         */
        Optional<String> ask(Duration patience) throws InterruptedException;
    }

    private Identification() {}

    /**
     * Which instance this is.
     *
     * @param last the one that the state directory belonged to; null when it is new
     * @param configured an id that somebody has chosen; null when it is to be found out
     * @param machineId empty when there is none
     * @param olderState whether there is state under the machine's id that no instance has claimed: a version without claims has
     *     left it
     */
    public static VmInstance of(
            @Nullable VmInstance last,
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
            return configured.equals(last.id())
                    ? last.seenIn(bootId, machineId, "")
                    : new VmInstance(configured, machineId, "", bootId);
        }
        boolean sameBoot = last.bootId().equals(bootId);
        // Only who knows a former id can be told by another one that this is a clone, and a network is slow only at
        // boot.
        String answer = asked(metadata, sameBoot || last.metadataId().isEmpty() ? Duration.ZERO : PATIENCE);
        return isAnother(last, machineId, answer, sameBoot)
                ? new VmInstance(chosen(answer, machineId), machineId, answer, bootId)
                : last.seenIn(bootId, machineId, answer);
    }

    private static VmInstance first(
            @Nullable String configured, String machineId, String bootId, boolean olderState, Question metadata)
            throws InterruptedException {
        if (configured != null) {
            return new VmInstance(configured, machineId, "", bootId);
        }
        String answer = asked(metadata, Duration.ZERO);
        return new VmInstance(olderState ? machineId : chosen(answer, machineId), machineId, answer, bootId);
    }

    /**
     * The metadata server's word counts, when it said something now and before; else the machine's id. But within a boot a server that
     * does not answer now leaves things as they are, since a machine's id can be made anew.
     */
    private static boolean isAnother(VmInstance last, String machineId, String answer, boolean sameBoot) {
        if (!answer.isEmpty() && !last.metadataId().isEmpty()) {
            return !answer.equals(last.metadataId());
        }
        if (sameBoot && !last.metadataId().isEmpty()) {
            return false;
        }
        return !machineId.isEmpty() && !last.machineId().isEmpty() && !machineId.equals(last.machineId());
    }

    private static String chosen(String answer, String machineId) {
        if (!answer.isEmpty()) {
            return answer;
        }
        return machineId.isEmpty() ? NO_ID : machineId;
    }

    /** What can't be the name of a directory is no answer. */
    private static String asked(Question metadata, Duration patience) throws InterruptedException {
        return metadata.ask(patience)
                .filter(id -> POSSIBLE.matcher(id).matches())
                .orElse("");
    }
}
