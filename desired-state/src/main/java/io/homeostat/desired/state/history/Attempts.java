package io.homeostat.desired.state.history;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Fields;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.state.EventType;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What has failed for one declaration; another declaration begins anew.
 *
 * @param hash of the declaration; empty when the workload is to be removed
 * @param install failures to fetch and unpack
 * @param start failures to launch, start and become healthy
 * @param configure failures of Apply
 * @param limits failures to set limits in place
 * @param restore failures to fetch and unpack the last good revision, which is to stand in and is not here any more
 * @param upkeep failures to stop, activate or remove, which always succeed on a sound machine
 * @param reload failures to make what runs read its files again
 * @param restartToConfigure the running process refuses Apply, so a new configuration needs a restart
 * @param reported what events have reported of it
 */
public record Attempts(
        String hash,
        Failures install,
        Failures start,
        Failures configure,
        Failures limits,
        Failures restore,
        Failures upkeep,
        ReloadFailures reload,
        boolean restartToConfigure,
        @Inline Reported reported) {
    public static final Attempts NONE = of("");

    public static Attempts of(String hash) {
        return new Attempts(
                hash,
                Failures.NONE,
                Failures.NONE,
                Failures.NONE,
                Failures.NONE,
                Failures.NONE,
                Failures.NONE,
                ReloadFailures.NONE,
                false,
                Reported.NOTHING);
    }

    public Attempts withInstall(Failures failures) {
        return new Attempts(
                hash, failures, start, configure, limits, restore, upkeep, reload, restartToConfigure, reported);
    }

    public Attempts withStart(Failures failures) {
        return new Attempts(
                hash, install, failures, configure, limits, restore, upkeep, reload, restartToConfigure, reported);
    }

    public Attempts withConfigure(Failures failures) {
        return new Attempts(
                hash, install, start, failures, limits, restore, upkeep, reload, restartToConfigure, reported);
    }

    public Attempts withLimits(Failures failures) {
        return new Attempts(
                hash, install, start, configure, failures, restore, upkeep, reload, restartToConfigure, reported);
    }

    public Attempts withRestore(Failures failures) {
        return new Attempts(
                hash, install, start, configure, limits, failures, upkeep, reload, restartToConfigure, reported);
    }

    public Attempts withUpkeep(Failures failures) {
        return new Attempts(
                hash, install, start, configure, limits, restore, failures, reload, restartToConfigure, reported);
    }

    public Attempts withReload(ReloadFailures failures) {
        return new Attempts(
                hash, install, start, configure, limits, restore, upkeep, failures, restartToConfigure, reported);
    }

    public Attempts withRestartToConfigure(boolean needed) {
        return new Attempts(hash, install, start, configure, limits, restore, upkeep, reload, needed, reported);
    }

    public Attempts withReported(Reported next) {
        return new Attempts(hash, install, start, configure, limits, restore, upkeep, reload, restartToConfigure, next);
    }

    /**
     * Failures in a row of one kind.
     *
     * @param last when it last failed; null when it has not
     * @param fatal whether retrying can't help until the declaration changes
     */
    public record Failures(int count, @Nullable Instant last, String error, boolean fatal) {
        public static final Failures NONE = new Failures(0, null, "", false);

        /** None that counts any more; when and why it last failed stays known. */
        public Failures forgiven() {
            return new Failures(0, last, error, false);
        }

        public Failures failed(Instant at, String why, boolean isFatal) {
            return new Failures(count + 1, at, why, isFatal);
        }
    }

    /**
     * Failures in a row with the same contents: others are tried at once. Or, without contents, so many reloads that went well and followed
     * each other closely: a program may change its files itself.
     *
     * @param contents a hash of those that have failed; empty when none have
     */
    public record ReloadFailures(Failures failures, String contents) {
        public static final ReloadFailures NONE = new ReloadFailures(Failures.NONE, "");

        public ReloadFailures failed(String others, Instant at, String why) {
            Failures before = others.equals(contents) ? failures : Failures.NONE;
            return new ReloadFailures(before.failed(at, why, false), others);
        }

        /**
         * One that went well.
         *
         * @param before that went well shortly before it
         */
        public static ReloadFailures succeeded(Failures before, Instant at) {
            return new ReloadFailures(before.failed(at, "", false), "");
        }
    }

    /**
     * What events have reported of a declaration, so that nothing is reported again and again while it keeps failing.
     *
     * @param revision that was reported as declared; of a workload to be removed, the last one
     * @param failures reported since something last went well, newest last; enough of them that causes which take turns are reported once
     *     each
     */
    public record Reported(
            String revision, @Fields.Key("told") ImmutableList<ReportedFailure> failures) {
        public static final Reported NOTHING = new Reported("", ImmutableList.of());

        private static final int REMEMBERED = 8;

        public static Reported of(String revision) {
            return new Reported(revision, ImmutableList.of());
        }

        public Reported and(ReportedFailure failure) {
            ImmutableList<ReportedFailure> all = ImmutableList.<ReportedFailure>builder()
                    .addAll(failures)
                    .add(failure)
                    .build();
            return new Reported(revision, all.subList(Math.max(0, all.size() - REMEMBERED), all.size()));
        }

        /** A failure that an event has reported; reported again only if it differs, or something went well meanwhile. */
        public record ReportedFailure(EventType type, String revision, FailureCause cause) {}
    }
}
