package io.homeostat.reconcile.sim;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** What a revision is like. Fixed by its name, so that a history can be read. */
enum Behaviour {
    GOOD,
    /** Good, but takes its time to listen. */
    SLOW,
    /** Good, but ends only when its stop has timed out. */
    HANGS_AT_STOP,
    /** Good, but takes a new configuration only at Start. */
    APPLY_UNSUPPORTED,
    /** Starts well and refuses every configuration after that. */
    APPLY_ERROR,
    /** Starts well and ends by itself after a while, each time. */
    CRASHES,
    /** The same with exit status 0, which completes it where its policy says so. */
    COMPLETES,
    /** Its archive can't be fetched, now or ever. */
    UNFETCHABLE,
    /** Its entry point is missing. */
    UNLAUNCHABLE,
    NEVER_LISTENS,
    EXITS_AT_ONCE,
    START_ERROR,
    /** For a one-shot: done after a while. */
    FINISHES,
    /** For a one-shot: ends after a while, with another exit status than 0. */
    FAILS,
    /** For a one-shot: never done. */
    ENDLESS;

    /** How long the work of a one-shot takes, in steady milliseconds from birth. */
    static final long TAKES = 5_000;

    /** Revisions that are hashes of what is declared, and what they would be called. */
    private static final Map<String, String> NAMES = new ConcurrentHashMap<>();

    /** Says what a revision that is a hash is like; each has one name, always the same. */
    static void name(String revision, String name) {
        NAMES.put(revision, name);
    }

    /** Of a revision, or of the key of its archive, which is the revision in lower case. */
    static Behaviour of(String revision) {
        String name = NAMES.getOrDefault(revision, revision);
        for (Behaviour behaviour : values()) {
            if (name.toUpperCase(Locale.ROOT).startsWith(behaviour.name())) {
                return behaviour;
            }
        }
        throw new IllegalArgumentException("not a simulated revision: " + revision);
    }

    /** Comes to its desired state and stays there. */
    boolean isGood() {
        return switch (this) {
            case GOOD, SLOW, HANGS_AT_STOP, APPLY_UNSUPPORTED -> true;
            case APPLY_ERROR,
                    CRASHES,
                    COMPLETES,
                    UNFETCHABLE,
                    UNLAUNCHABLE,
                    NEVER_LISTENS,
                    EXITS_AT_ONCE,
                    START_ERROR -> false;
            case FINISHES, FAILS, ENDLESS -> false;
        };
    }

    boolean startsWell() {
        return isGood() || this == APPLY_ERROR || this == CRASHES || this == COMPLETES || runsToItsEnd();
    }

    /** Whether it is one of those that only one-shots have. */
    boolean runsToItsEnd() {
        return this == FINISHES || this == FAILS || this == ENDLESS;
    }

    /** Steady milliseconds from birth until it listens, or a process's probe succeeds. */
    long listensAfter() {
        return switch (this) {
            case SLOW -> 20_000;
            case NEVER_LISTENS -> Long.MAX_VALUE;
            default -> 30;
        };
    }

    /** Steady milliseconds from birth until it ends by itself. */
    long livesFor() {
        return switch (this) {
            case EXITS_AT_ONCE -> 0;
            case CRASHES, COMPLETES -> 40_000;
            case FINISHES, FAILS -> TAKES;
            default -> Long.MAX_VALUE;
        };
    }
}
