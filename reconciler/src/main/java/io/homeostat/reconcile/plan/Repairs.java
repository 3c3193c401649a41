package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.lifecycle.Restart;
import io.homeostat.desired.state.history.Attempts;
import java.time.Instant;

/**
 * How often in a row the same was made good. A workload that itself deletes or changes what is made good each time would be
 * restarted for ever; so all but the first repair wait, longer and longer, up to a day.
 */
final class Repairs {
    private Repairs() {}

    /** One more. */
    static void note(Situation situation, Notes notes, String what) {
        Attempts before = recent(situation);
        notes.run(run -> run.withRepairs(before.failed(situation.now(), what, false)));
    }

    /** When the next repair may be made; not after now when it may be made at once. */
    static Instant next(Situation situation) {
        return Pauses.afterRepair(situation, recent(situation));
    }

    /** Those that count: none when nothing has been lost for as long as crashes are remembered, once the pause is over. */
    private static Attempts recent(Situation situation) {
        Attempts repairs = situation.history().run().repairs();
        Instant last = repairs.last();
        Declaration declared = situation.declared();
        if (last == null || declared == null) {
            return Attempts.NONE;
        }
        Restart policy = declared.workload().lifecycle().restart();
        // In the pause nothing more can be lost, so it proves nothing; and it may be longer than what is remembered.
        Instant next = Pauses.afterRepair(situation, repairs);
        Instant since = next.isAfter(last) ? next : last;
        return situation.now().isBefore(since.plus(policy.resetAfter())) ? repairs : Attempts.NONE;
    }
}
