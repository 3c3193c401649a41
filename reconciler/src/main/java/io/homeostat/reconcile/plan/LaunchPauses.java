package io.homeostat.reconcile.plan;

import io.homeostat.desired.model.lifecycle.Restart;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.RunRecord;
import io.homeostat.reconcile.plan.Step.Wait;
import java.time.Instant;

/** Why a launch waits after those before it have failed: a revision that was once well has crashed, another one did not start. */
final class LaunchPauses {
    private final Situation situation;
    private final Draft draft;
    private final Target target;
    private final boolean proven;
    private final Gates gates;

    /** @param proven whether the target was seen well before */
    LaunchPauses(Situation situation, Draft draft, Target target, boolean proven, Gates gates) {
        this.situation = situation;
        this.draft = draft;
        this.target = target;
        this.proven = proven;
        this.gates = gates;
    }

    /** Whether the launch has to wait; says until when, and why. */
    boolean mustWait() {
        RunRecord run = situation.history().run();
        Restart policy = target.lifecycle().restart();
        if (proven) {
            Attempts crashes = run.crashes();
            return isGivenUp(crashes, policy)
                    || gates.pauseUntil(
                            Pauses.afterCrash(situation, crashes, policy),
                            Reason.CRASH_LOOP,
                            "failed " + times(crashes.count()) + " in a row: " + crashes.error(),
                            Wait.Kind.RETRY);
        }
        Attempts starts = situation.history().trial().start();
        int allowed = target.lifecycle().start().attempts();
        if (starts.fatal()) {
            draft.waitFor(
                    Reason.START_FAILED, "could not start: " + starts.error(), Instant.MAX, Wait.Kind.DECLARATION);
            return true;
        }
        if (starts.count() >= allowed) {
            return isGivenUp(starts, policy)
                    || gates.pauseUntil(
                            Pauses.afterLastStart(situation, starts, policy, allowed),
                            Reason.START_FAILED,
                            "start failed " + times(starts.count()) + ": " + starts.error(),
                            Wait.Kind.RETRY);
        }
        return gates.pauseUntil(
                Pauses.betweenStarts(situation, starts, target.lifecycle().start()),
                Reason.START_FAILED,
                "start failed " + times(starts.count()) + " of " + allowed + ": " + starts.error(),
                Wait.Kind.PROGRESS);
    }

    /** @return true when there is no launch any more */
    private boolean isGivenUp(Attempts failures, Restart policy) {
        if (policy.giveUpAfter() == 0 || failures.count() <= policy.giveUpAfter()) {
            return false;
        }
        draft.waitFor(
                Reason.GIVEN_UP,
                "given up after " + failures.count() + " failures in a row: " + failures.error(),
                Instant.MAX,
                Wait.Kind.DECLARATION);
        return true;
    }

    private static String times(int count) {
        return count == 1 ? "once" : count + " times";
    }
}
