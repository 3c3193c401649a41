package io.homeostat.desired.state.history;

import io.homeostat.desired.model.schema.Inline;

/**
 * Failures to bring about one declaration; another declaration gets a new trial.
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
public record Trial(
        String hash,
        Attempts install,
        Attempts start,
        Attempts configure,
        Attempts limits,
        Attempts upkeep,
        boolean restartToConfigure,
        @Inline Told told) {
    public static final Trial NONE = of("");

    public static Trial of(String hash) {
        return new Trial(
                hash, Attempts.NONE, Attempts.NONE, Attempts.NONE, Attempts.NONE, Attempts.NONE, false, Told.NOTHING);
    }

    public Trial withInstall(Attempts attempts) {
        return new Trial(hash, attempts, start, configure, limits, upkeep, restartToConfigure, told);
    }

    public Trial withStart(Attempts attempts) {
        return new Trial(hash, install, attempts, configure, limits, upkeep, restartToConfigure, told);
    }

    public Trial withConfigure(Attempts attempts) {
        return new Trial(hash, install, start, attempts, limits, upkeep, restartToConfigure, told);
    }

    public Trial withLimits(Attempts attempts) {
        return new Trial(hash, install, start, configure, attempts, upkeep, restartToConfigure, told);
    }

    public Trial withUpkeep(Attempts attempts) {
        return new Trial(hash, install, start, configure, limits, attempts, restartToConfigure, told);
    }

    public Trial withRestartToConfigure(boolean needed) {
        return new Trial(hash, install, start, configure, limits, upkeep, needed, told);
    }

    public Trial withTold(Told next) {
        return new Trial(hash, install, start, configure, limits, upkeep, restartToConfigure, next);
    }
}
