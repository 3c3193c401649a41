package io.homeostat.desired.fleet;

import io.homeostat.desired.model.BriefText;
import java.time.Instant;

/**
 * What somebody wants of a rollout. It stands until another one is given in its place, and is followed once.
 *
 * @param digest of the rollout that is meant: of any other one nothing is wanted
 * @param at when it was given, by the clock of whoever gave it: for people
 * @param by who gave it, briefly: for people
 */
public record RolloutOrder(String digest, Action action, Instant at, String by) {
    /** Anybody's text may become one, and who gave it becomes a part of the rollout's state. */
    public RolloutOrder {
        by = BriefText.of(by);
    }

    /** What to do. */
    public enum Action {
        /** Open no wave, and undo nothing, until it is resumed. */
        PAUSE,
        /** Go on after a pause, an abort or a halt, whose failures are accepted; begin anew after a rollback. */
        RESUME,
        /** Open no wave any more; machines keep what they have. */
        ABORT,
        /** Have all machines go back. */
        ROLLBACK
    }
}
