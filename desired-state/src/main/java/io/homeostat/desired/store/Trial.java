package io.homeostat.desired.store;

/**
 * Failures to bring about one declaration; another declaration gets a new trial.
 *
 * @param hash of the declaration
 * @param install failures to fetch and unpack
 * @param start failures to launch, start and become healthy
 * @param configure failures of Apply
 * @param restartToConfigure the running process refuses Apply: the new configuration needs a restart
 */
public record Trial(String hash, Attempts install, Attempts start, Attempts configure, boolean restartToConfigure) {
    public static final Trial NONE = of("");

    public static Trial of(String hash) {
        return new Trial(hash, Attempts.NONE, Attempts.NONE, Attempts.NONE, false);
    }

    public Trial withInstall(Attempts attempts) {
        return new Trial(hash, attempts, start, configure, restartToConfigure);
    }

    public Trial withStart(Attempts attempts) {
        return new Trial(hash, install, attempts, configure, restartToConfigure);
    }

    public Trial withConfigure(Attempts attempts) {
        return new Trial(hash, install, start, attempts, restartToConfigure);
    }

    public Trial withRestartToConfigure(boolean needed) {
        return new Trial(hash, install, start, configure, needed);
    }
}
