package io.homeostat.reconcile.plan;

import java.util.Locale;

/**
 * Why a plan does something. What the declaration asks for is intent; what happened to the machine by itself is drift.
 */
public enum Reason {
    NOT_INSTALLED(false),
    REVISION_CHANGED(false),
    CONTENT_CHANGED(false),
    ENTRY_POINT_CHANGED(false),
    ARGUMENTS_CHANGED(false),
    ENVIRONMENT_CHANGED(false),
    USER_CHANGED(false),
    EXECUTION_CHANGED(false),
    LIMITS_CHANGED(false),
    LIMITS_NOT_ENFORCEABLE(false),
    CONFIG_CHANGED(false),
    NO_LONGER_DECLARED(false),
    UNCLAIMED(false),
    DISABLED(false),
    ENABLED(false),
    FACTS_UNKNOWN(false),
    SUPERSEDED_REVISION(false),
    START_NOT_FINISHED(false),
    INSTALL_FAILED(false),
    SIGNATURE_MISSING(false),
    WAITING_FOR_DEPENDENCY(false),
    WAITING_FOR_DEPENDANTS(false),
    DEPENDENCY_CYCLE(false),
    WAITING_FOR_WINDOW(false),
    WAITING_FOR_OTHERS(false),
    START_FAILED(false),
    CONFIGURE_FAILED(false),
    STEP_FAILED(false),
    REVISION_FAILED(false),
    PAUSED(false),
    STOPPED(false),
    RUN_DUE(false),
    RUN_UNDER_WAY(false),
    RUN_OVER(false),
    RUN_TIMED_OUT(false),
    RUN_FAILED(false),
    INSTALL_MISSING(true),
    INSTALL_DAMAGED(true),
    LINK_MOVED(true),
    SOCKET_MISSING(true),
    LOG_MISSING(true),
    LIMITS_DRIFTED(true),
    PROCESS_EXITED(true),
    PROCESS_MISSING(true),
    PROCESS_SURPLUS(true),
    CRASH_LOOP(true),
    GIVEN_UP(true),
    UNHEALTHY(true),
    HUNG(true),
    CANNOT_OBSERVE(true),
    AT_DESIRED_STATE(false);

    private final boolean drift;

    Reason(boolean drift) {
        this.drift = drift;
    }

    /** True when the machine moved, false when the intent did. */
    public boolean isDrift() {
        return drift;
    }

    /** In CamelCase, as the reason of a condition. */
    public String camelCase() {
        StringBuilder words = new StringBuilder();
        for (String word : name().split("_", -1)) {
            words.append(word.charAt(0)).append(word.substring(1).toLowerCase(Locale.ROOT));
        }
        return words.toString();
    }
}
