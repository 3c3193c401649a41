package io.homeostat.desired.state.history;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Fields;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.state.EventType;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

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

    /**
     * Failures in a row at one thing.
     *
     * @param count how often it failed; 0 when it has not
     * @param last when it last failed; null when it has not
     * @param error what went wrong last
     * @param fatal trying again can't help until the declaration changes
     */
    public record Failures(int count, @Nullable Instant last, String error, boolean fatal) {
        public static final Failures NONE = new Failures(0, null, "", false);

        public Failures failed(Instant at, String why, boolean isFatal) {
            return new Failures(count + 1, at, why, isFatal);
        }
    }

    /**
     * What events have told of a declaration, so that none is told again and again while something keeps failing.
     *
     * @param revision that was told to be declared; of a workload that is to be removed, the one that was declared last
     * @param failures which ones have been told since something last went well, the newest last; so many that causes which take turns
     *     are told once each. Earlier versions stored digests of messages under another key: those are forgotten
     */
    public record Told(String revision, @Fields.Key("told") ImmutableList<ToldFailure> failures) {
        public static final Told NOTHING = new Told("", ImmutableList.of());

        private static final int REMEMBERED = 8;

        public static Told of(String revision) {
            return new Told(revision, ImmutableList.of());
        }

        public Told and(ToldFailure failure) {
            ImmutableList<ToldFailure> all = ImmutableList.<ToldFailure>builder()
                    .addAll(failures)
                    .add(failure)
                    .build();
            return new Told(revision, all.subList(Math.max(0, all.size() - REMEMBERED), all.size()));
        }

        /** A failure that an event has told of; it is told again only when it is another one, or when something has gone well meanwhile. */
        public record ToldFailure(EventType type, String revision, FailureCause cause) {}
    }
}
