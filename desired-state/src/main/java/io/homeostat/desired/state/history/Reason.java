package io.homeostat.desired.state.history;

import com.google.common.base.CaseFormat;

/**
 * Why a plan does something, or why a condition is as it is. What the declaration asks for is intent; what happened to the machine
 * by itself is drift.
 */
public enum Reason {
    NOT_INSTALLED(false),
    REVISION_CHANGED(false),
    CONTENT_CHANGED(false),
    ENTRY_POINT_CHANGED(false),
    ARGUMENTS_CHANGED(false),
    ENVIRONMENT_CHANGED(false),
    USER_CHANGED(false),
    PROCESS_SETTINGS_CHANGED(false),
    ENDPOINT_CHANGED(false),
    SANDBOX_CHANGED(false),
    POLICY_CHANGED(false),
    EXECUTION_CHANGED(false),
    LIMITS_CHANGED(false),
    LIMITS_NOT_ENFORCEABLE(false),
    FILE_UNUSABLE(false),
    CONFIG_REFUSED(false),
    CONFIG_CHANGED(false),
    WATCHED_FILES_CHANGED(false),
    SETTINGS_CHANGED(false),
    NO_LONGER_DECLARED(false),
    UNCLAIMED(false),
    DISABLED(false),
    ENABLED(false),
    FACTS_UNKNOWN(false),
    SUPERSEDED_REVISION(false),
    START_NOT_FINISHED(false),
    RESTART_REQUESTED(false),
    INSTALL_FAILED(false),
    SIGNATURE_MISSING(false),
    WAITING_FOR_DEPENDENCY(false),
    WAITING_FOR_DEPENDANTS(false),
    DEPENDENCY_CYCLE(false),
    WAITING_FOR_WINDOW(false),
    WAITING_FOR_OTHERS(false),
    START_FAILED(false),
    CONFIGURE_FAILED(false),
    RELOAD_FAILED(false),
    STEP_FAILED(false),
    REVISION_FAILED(false),
    ROLLED_BACK(false),
    PAUSED(false),
    STOPPED(false),
    RUN_DUE(false),
    RUN_UNDER_WAY(false),
    RUN_OVER(false),
    RUN_TIMED_OUT(false),
    RUN_FAILED(false),
    COMPLETED(false),
    INSTALL_MISSING(true),
    INSTALL_DAMAGED(true),
    LINK_MOVED(true),
    SOCKET_MISSING(true),
    LOG_MISSING(true),
    LIMITS_DRIFTED(true),
    CONFIG_DRIFTED(true),
    GUEST_LOST(true),
    PROCESS_EXITED(true),
    PROCESS_MISSING(true),
    PROCESS_SURPLUS(true),
    PROCESS_UNKNOWN(true),
    CRASH_LOOP(true),
    GIVEN_UP(true),
    UNHEALTHY(true),
    HUNG(true),
    PARENT_CHANGED(true),
    CANNOT_OBSERVE(true),
    AT_DESIRED_STATE(false),
    // Of conditions only: no plan has these.
    HEALTHY(false),
    STARTING(false),
    NOT_RUNNING(false),
    CHECK_FAILED(false),
    CODE_REPORTED(false),
    DEGRADED(false),
    NOT_RUN_YET(false),
    RUNNING(false),
    NOT_PAUSED(false),
    PAUSED_BY_USER(false),
    STOPPED_BY_USER(false),
    TRYING(false),
    TOO_MANY_FAILURES(false),
    NO_FAILED_UPGRADE(false),
    UPGRADE_FAILED(false),
    NOT_POSSIBLE(false),
    NOT_SET(false);

    private final boolean drift;

    Reason(boolean drift) {
        this.drift = drift;
    }

    /** True when the machine moved, false when the intent did. */
    public boolean isDrift() {
        return drift;
    }

    /** In CamelCase, as conditions show it. */
    public String word() {
        return CaseFormat.UPPER_UNDERSCORE.to(CaseFormat.UPPER_CAMEL, name());
    }
}
