package io.homeostat.reconcile.sim;

import io.homeostat.desired.model.Lifecycle.Restart.Policy;
import java.util.SplittableRandom;

/** After which ends daemons are to be launched again, and who asks for another launch or a former revision. */
final class Policies {
    private static final int REVISIONS = 2;

    private final SplittableRandom random;

    /** @param random of its own, so that the rest of a history is what it would be without */
    Policies(SplittableRandom random) {
        this.random = random;
    }

    /** The same, or something instead. */
    WorldEvent instead(WorldEvent event) {
        return switch (event) {
            case WorldEvent.Declare(var source, var id, var wish)
            when wish.execution().triggers() == null && !Kinds.isNeverDone(id) ->
                new WorldEvent.Declare(source, id, restarted(wish));
            case WorldEvent.RetryNow(var id) when strikes(50) -> new WorldEvent.Start(id);
            case WorldEvent.SetLimits(var id, var limits) when strikes(30) -> new WorldEvent.Start(id);
            case WorldEvent.Feel(var id, var verdict) when strikes(25) -> new WorldEvent.LaunchAgain(id);
            case WorldEvent.Kill(var id, var survivors)
            when strikes(40) -> new WorldEvent.RollBack(id, random.nextInt(Integer.MAX_VALUE));
            case WorldEvent.Spoil(var id)
            when strikes(50) -> new WorldEvent.RollBack(id, random.nextInt(Integer.MAX_VALUE));
            default -> event;
        };
    }

    private Wish restarted(Wish wish) {
        if (strikes(20)) {
            Wish ending = wish.revised(Behaviour.COMPLETES + "-" + random.nextInt(REVISIONS));
            return strikes(80) ? ending.restarted(Policy.ON_FAILURE) : ending;
        }
        return strikes(25) ? wish.restarted(Policy.ON_FAILURE) : wish;
    }

    private boolean strikes(int percent) {
        return random.nextInt(100) < percent;
    }
}
