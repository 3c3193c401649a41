package io.homeostat.reconcile.loop;

import java.util.Locale;

/** What made a pass due; for people who read the log. No pass does anything else because of it. */
public enum Trigger {
    /** The agent, or the command, has just begun. */
    START,
    /** A process has ended. */
    EXIT,
    /** A file has changed: a declaration's, or one of the machine's. */
    FILES,
    /** A health check said something new. */
    HEALTH,
    /** Another workload, on which it depends or with which it is counted, fares otherwise than before. */
    NEIGHBOUR,
    /** Somebody asked for it: a command, a control plane. */
    REQUEST,
    /** The step before it was done: look again. */
    STEP,
    /** What was under way should be over by now. */
    WAIT,
    /** The pause after a failure is over. */
    RETRY,
    /** It was time to look again, whatever happened. */
    RESYNC;

    /** As it stands in the log. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }
}
