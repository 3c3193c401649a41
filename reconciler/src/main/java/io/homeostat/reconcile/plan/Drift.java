package io.homeostat.reconcile.plan;

import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.ObservedInstance.Deviation;
import io.homeostat.observe.ObservedInstance.Loss;

/**
 * What somebody has changed on the machine, as plans say it: the same whether it is put right by itself or by a launch that something else
 * is the reason for.
 */
record Drift(Reason reason, String words) {
    static final Drift LINK_OF_RUNNING =
            new Drift(Reason.LINK_MOVED, "its symlink does not point to the running revision");
    static final Drift LINK = new Drift(Reason.LINK_MOVED, "its symlink does not point to what is installed");

    /** A file that a running instance holds open, and that was deleted. */
    static Drift of(Loss loss) {
        return switch (loss) {
            case SOCKET -> new Drift(Reason.SOCKET_MISSING, "its socket was deleted, nobody can reach it");
            case LOG -> new Drift(Reason.LOG_MISSING, "its log was deleted, what it writes is lost");
            case GUEST_AGENT ->
                new Drift(
                        Reason.GUEST_LOST,
                        "the agent of its guest was started again, and only a new boot of the guest heals that");
            case SHARED_PIDS ->
                new Drift(
                        Reason.GUEST_LOST,
                        "the container has ended that the first process of its shared namespace was in, and only a new boot"
                                + " of the guest gives it another one");
        };
    }

    /** What it was given while it ran is not what it has. */
    static Drift of(Deviation deviation) {
        return new Drift(Reason.CONFIG_DRIFTED, "changed from outside: " + String.join("; ", deviation.repairable()));
    }

    /** @param differences between the limits that hold and those that were set */
    static Drift ofLimits(String differences) {
        return new Drift(Reason.LIMITS_DRIFTED, "limits were changed from outside: " + differences);
    }
}
