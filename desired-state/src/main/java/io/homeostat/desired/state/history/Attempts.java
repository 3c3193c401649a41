package io.homeostat.desired.state.history;

import io.homeostat.desired.model.schema.Inline;

/**
 * What was tried for one declaration and has failed; another declaration begins anew.
 *
 * @param hash of the declaration; empty when the workload is to be removed
 * @param install failures to fetch and unpack
 * @param start failures to launch, start and become healthy
 * @param configure failures of Apply
 * @param limits failures to set limits in place
 * @param upkeep failures of what has to succeed on any machine in order: stop, activate, remove
 * @param restartToConfigure the running process refuses Apply: the new configuration needs a restart
 * @param told what events have told of it
 */
public record Attempts(
        String hash,
        Failures install,
        Failures start,
        Failures configure,
        Failures limits,
        Failures upkeep,
        boolean restartToConfigure,
        @Inline Told told) {
    public static final Attempts NONE = of("");

    public static Attempts of(String hash) {
        return new Attempts(
                hash, Failures.NONE, Failures.NONE, Failures.NONE, Failures.NONE, Failures.NONE, false, Told.NOTHING);
    }

    public Attempts withInstall(Failures failures) {
        return new Attempts(hash, failures, start, configure, limits, upkeep, restartToConfigure, told);
    }

    public Attempts withStart(Failures failures) {
        return new Attempts(hash, install, failures, configure, limits, upkeep, restartToConfigure, told);
    }

    public Attempts withConfigure(Failures failures) {
        return new Attempts(hash, install, start, failures, limits, upkeep, restartToConfigure, told);
    }

    public Attempts withLimits(Failures failures) {
        return new Attempts(hash, install, start, configure, failures, upkeep, restartToConfigure, told);
    }

    public Attempts withUpkeep(Failures failures) {
        return new Attempts(hash, install, start, configure, limits, failures, restartToConfigure, told);
    }

    public Attempts withRestartToConfigure(boolean needed) {
        return new Attempts(hash, install, start, configure, limits, upkeep, needed, told);
    }

    public Attempts withTold(Told next) {
        return new Attempts(hash, install, start, configure, limits, upkeep, restartToConfigure, next);
    }
}
