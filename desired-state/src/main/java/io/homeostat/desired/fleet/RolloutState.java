package io.homeostat.desired.fleet;

import io.homeostat.desired.model.VisibleText;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How far a rollout has come: written by the controller, read by every machine. A machine takes the new revision when its place is not
 * behind {@code through} and it was registered with its labels by {@code asOf}; what it has to know is in here, so it goes on by this without a controller.
 *
 * @param digest of the rollout that this is about; for any other one nothing is open
 * @param wave the one that is open, from 0; -1 before the first
 * @param through the last place in the order that gets the new revision, see {@link Rollout#place}
 * @param asOf the store's revision when that was decided: machines that came or changed their labels later wait for the next decision
 * @param machines how many machines have the new revision then: those that this lets in, and those that had it already
 * @param opened when the wave opened, moved on by the times in which it let nobody in: what machines may take is counted from then
 * @param since when the phase or the wave began
 * @param wellSince since when all machines of the wave have been well or may be counted as failed; null while they are not
 * @param forgiven how many failures a resume has accepted
 * @param order the store's revision of the last order that was followed, so that each is followed once; 0 before the first
 * @param reason why it is in this phase, for people; a longer one than people read is shortened
 */
public record RolloutState(
        String digest,
        Phase phase,
        int wave,
        String through,
        long asOf,
        int machines,
        Instant opened,
        Instant since,
        @Nullable Instant wellSince,
        int forgiven,
        long order,
        String reason) {
    /** The highest wave that is read, which no rollout has; the next one still has a number. */
    private static final int MOST_WAVES = 1 << 20;

    /** The most machines that are read, as no fleet has. */
    private static final int MOST_MACHINES = 1 << 30;

    /** The highest revision that is read, which no store comes to. */
    private static final long LAST_REVISION = 1L << 53;

    private static final Instant LAST = Instant.parse("9999-12-31T23:59:59Z");

    /** The most characters of a reason, which as JSON are far fewer than machines take of a state. */
    private static final int LONGEST_REASON = 500;

    /** Anybody's text may become one: it is such that can be reckoned with, and that machines take whatever is decided next. */
    public RolloutState {
        requireWithin("wave", wave, -1, MOST_WAVES);
        if (through.length() > Rollout.PLACE_DIGITS) {
            throw new IllegalArgumentException("through: no machine's place has " + through.length() + " characters");
        }
        requireWithin("asOf", asOf, 0, LAST_REVISION);
        requireWithin("machines", machines, 0, MOST_MACHINES);
        requireUsable("opened", opened);
        requireUsable("since", since);
        if (wellSince != null) {
            requireUsable("wellSince", wellSince);
        }
        requireWithin("forgiven", forgiven, 0, MOST_MACHINES);
        requireWithin("order", order, 0, LAST_REVISION);
        reason = VisibleText.cut(reason, LONGEST_REASON);
    }

    private static void requireWithin(String name, long number, long least, long most) {
        if (number < least || number > most) {
            throw new IllegalArgumentException(name + ": " + number + " is not from " + least + " to " + most);
        }
    }

    private static void requireUsable(String name, Instant time) {
        if (time.isBefore(Instant.EPOCH) || time.isAfter(LAST)) {
            throw new IllegalArgumentException(name + ": nothing was decided at " + time);
        }
    }

    /** What becomes of a rollout. */
    public enum Phase {
        /** Waves open one after the other. */
        PROGRESSING,
        /** Somebody has said that no wave opens for now. */
        PAUSED,
        /** Too many machines have failed, so no wave opens until somebody resumes it; those that have the new revision keep it. */
        HALTED,
        /** Somebody has ended it: no wave opens any more, and those that have the new revision keep it. */
        ABORTED,
        /** All machines go back to the old revision, or have done so. */
        ROLLED_BACK,
        /** Every machine may have the new revision. */
        COMPLETED
    }

    /** Whether machines that do not have the new revision yet may take it. */
    public boolean letsIn() {
        return phase == Phase.PROGRESSING || phase == Phase.COMPLETED;
    }

    /** Whether a machine is to have the new revision. */
    public boolean admits(Rollout rollout, String instanceId, long registeredAt) {
        return digest.equals(rollout.digest()) && admits(rollout.place(instanceId), registeredAt);
    }

    /** The same of a machine whose place is known, for the rollout that this is about. */
    public boolean admits(String place, long registeredAt) {
        return through.equals(Rollout.EVERYBODY) || (registeredAt <= asOf && place.compareTo(through) <= 0);
    }
}
