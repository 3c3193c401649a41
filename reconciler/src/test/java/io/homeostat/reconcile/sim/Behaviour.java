package io.homeostat.reconcile.sim;

import java.util.Locale;

/** What a revision is like. Fixed by its name, so that a history can be read. */
enum Behaviour {
    GOOD,
    /** Its archive can't be fetched, now or ever. */
    UNFETCHABLE,
    NEVER_LISTENS,
    EXITS_AT_ONCE,
    START_ERROR,
    /** A good one that takes a new configuration only at Start. */
    APPLY_UNSUPPORTED;

    /** Of a revision, or of the key of its archive, which is the revision in lower case. */
    static Behaviour of(String revision) {
        for (Behaviour behaviour : values()) {
            if (revision.toUpperCase(Locale.ROOT).startsWith(behaviour.name())) {
                return behaviour;
            }
        }
        throw new IllegalArgumentException("not a simulated revision: " + revision);
    }

    boolean isGood() {
        return this == GOOD || this == APPLY_UNSUPPORTED;
    }
}
