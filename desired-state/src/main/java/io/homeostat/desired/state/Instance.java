package io.homeostat.desired.state;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What exists of a workload on this machine: one launch of it. Written down before the launch, so that what is ours can always be found
 * again.
 *
 * @param launchId unique forever; also in the process's environment
 * @param target hash of the declaration it was launched for; empty when that is not known
 * @param directory the install directory it runs from; null when the program is local
 * @param inputs hash by name of what can't change while it runs (arguments, env, user, ...), of files that it was launched with, and what it depended on: a difference from
 *     the declaration is the reason for a restart
 * @param identity by which it is found again; null until it is known
 * @param configHash of the configuration that it has accepted; empty when there is none
 * @param watched SHA-256 by path of the files that it is made to read again when they change, as they were before it was launched or
 *     last made to; empty of one that could not be read, and missing where that is not known
 */
public record Instance(
        String launchId,
        WorkloadId workload,
        String target,
        String revision,
        @Nullable String directory,
        ImmutableSortedMap<String, String> inputs,
        Instant launchedAt,
        @Nullable Identity identity,
        Phase phase,
        String configHash,
        ImmutableSortedMap<String, String> watched) {

    /** Of which no files are known that it has to read again. */
    public Instance(
            String launchId,
            WorkloadId workload,
            String target,
            String revision,
            @Nullable String directory,
            ImmutableSortedMap<String, String> inputs,
            Instant launchedAt,
            @Nullable Identity identity,
            Phase phase,
            String configHash) {
        this(
                launchId,
                workload,
                target,
                revision,
                directory,
                inputs,
                launchedAt,
                identity,
                phase,
                configHash,
                ImmutableSortedMap.of());
    }

    /** One that the machine shows to be ours and of which nothing else is known. */
    public static Instance unknown(String launchId, WorkloadId workload, Instant launchedAt, Identity identity) {
        return new Instance(
                launchId, workload, "", "", null, ImmutableSortedMap.of(), launchedAt, identity, Phase.CREATED, "");
    }

    /** Without the hashes: those of secrets are not for logs. */
    @Override
    public String toString() {
        return "Instance[" + launchId + " of " + workload + " " + revision + ", " + phase + ", " + identity + "]";
    }

    /** By which people can find it: "launch 0b2e, pid 7". */
    public String words() {
        return "launch " + launchId + (identity == null ? "" : ", " + identity.words());
    }

    /** Its main process, when it is known and one of this host. */
    public @Nullable ProcessIdentity process() {
        return identity instanceof ProcessIdentity process ? process : null;
    }

    /** Whether it was found on the machine and nothing is known of what it was launched for. */
    public boolean isUnknown() {
        return target.isEmpty();
    }

    /** Whether its end is stored, so that nothing but what it left behind may be there. */
    public boolean isOver() {
        return phase == Phase.ENDED;
    }

    public boolean isStarted() {
        return phase == Phase.STARTED;
    }

    public Instance withIdentity(Identity known) {
        Phase next = phase == Phase.INTENDED ? Phase.CREATED : phase;
        return new Instance(
                launchId, workload, target, revision, directory, inputs, launchedAt, known, next, configHash, watched);
    }

    public Instance withPhase(Phase next, String acceptedConfigHash) {
        return new Instance(
                launchId,
                workload,
                target,
                revision,
                directory,
                inputs,
                launchedAt,
                identity,
                next,
                acceptedConfigHash,
                watched);
    }

    public Instance withWatched(ImmutableSortedMap<String, String> read) {
        return new Instance(
                launchId, workload, target, revision, directory, inputs, launchedAt, identity, phase, configHash, read);
    }

    /**
     * How far an instance has come. Written down before the call that it names: some calls must not be repeated, and some answers can be
     * read only once.
     */
    public enum Phase {
        /** About to be created; whether there is anything is seen, not known. */
        INTENDED,
        CREATED,
        /** Told to start, answer unknown: what a crash of ours leaves behind. A plugin's Start, for one, is sent at most once. */
        START_SENT,
        STARTED,
        /** Told to stop. Written down only for kinds whose stop must not be repeated; signals to a process may be. */
        STOPPING,
        /** Its end is stored, and what it left behind has yet to be removed. Only of kinds whose instances leave something. */
        ENDED;

        /** Whether it has not been told to start yet. */
        public boolean isBeforeStart() {
            return this == INTENDED || this == CREATED;
        }
    }
}
