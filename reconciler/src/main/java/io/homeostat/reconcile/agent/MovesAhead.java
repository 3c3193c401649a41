package io.homeostat.reconcile.agent;

import io.homeostat.actuate.limits.GracePeriod;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.reconcile.loop.PassId;
import io.homeostat.reconcile.loop.PassListener;

/** Has the kernel get ready for a launch while a pass that may lead to one looks and plans. */
final class MovesAhead implements PassListener {
    private final GracePeriod gracePeriod;

    MovesAhead(CgroupLayout cgroups) {
        this.gracePeriod = new GracePeriod(cgroups);
    }

    @Override
    public void begun(PassId pass) {
        switch (pass.trigger()) {
            case EXIT, FILES, REQUEST, RETRY, NEIGHBOUR -> gracePeriod.begin();
            // In those that follow it is under way or over, and most of the others find all as it was.
            case STEP, WAIT, START, RESYNC -> {}
        }
    }
}
