package io.homeostat.reconcile.agent.api;

/** Failures of calls to an agent, for tests of what callers make of them. */
public final class ApiFailures {
    private ApiFailures() {}

    public static ApiException of(ApiException.Kind kind) {
        return new ApiException(kind, "a failure of kind " + kind, null);
    }
}
