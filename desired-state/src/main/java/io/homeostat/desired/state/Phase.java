package io.homeostat.desired.state;

/**
 * How far an instance has come. Written down before the call that it names, because some calls must not be repeated and some answers
 * can be read only once.
 */
public enum Phase {
    /** About to be created; whether there is anything is seen, not known. */
    INTENDED,
    CREATED,
    /** Told to start, answer unknown: what a crash of ours leaves behind. A plugin's Start, for one, is sent at most once. */
    START_SENT,
    STARTED,
    /** Told to stop. Written down only for kinds whose stop must not be repeated; signals to a process may be. */
    STOPPING;

    /** Whether it has not been told to start yet. */
    public boolean isBeforeStart() {
        return this == INTENDED || this == CREATED;
    }
}
