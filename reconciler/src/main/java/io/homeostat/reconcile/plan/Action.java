package io.homeostat.reconcile.plan;

import java.util.Locale;

/** What a plan does about a workload, in one word. */
public enum Action {
    /** What nobody declared before is stored, and nothing is to be done on the machine so far. */
    DECLARE,
    INSTALL,
    UPGRADE,
    /** The last good revision takes the place of one that failed. */
    ROLLBACK,
    /** Other content at the same revision, or content that got lost. */
    REINSTALL,
    CONFIGURE,
    /** What is stored changes, and nothing on the machine: whoever enforces goes by it from then on. */
    UPDATE,
    /** What runs is made to read its files again. */
    RELOAD,
    RESTART,
    /** The symlink is put right. */
    ACTIVATE,
    /** What must not run is stopped; nothing is started in its place. */
    STOP,
    /** A one-shot is due. */
    RUN,
    CLEANUP,
    REMOVE,
    WAIT,
    NONE;

    /** As it stands in a plan. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }
}
