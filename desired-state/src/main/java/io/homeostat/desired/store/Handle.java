package io.homeostat.desired.store;

import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.WorkloadId;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One launch of a workload: written down before the process exists, so that a process of ours can always be found again.
 *
 * @param launchId unique for ever; also in the process's environment
 * @param target hash of the declaration it was launched for
 * @param directory the install directory it runs from; null when the program is local
 * @param inputs hash by name of what a process can't change once it runs (arguments, env, user, ...); what differs from the
 *     declaration is the reason for a restart; beside them what it depended on
 * @param identity null until the launched process has told who it is
 * @param start how far starting has come: for a plugin the protocol's Start, for a process whether it was seen ready
 * @param configHash of the configuration that the process has accepted; empty when there is none
 */
public record Handle(
        String launchId,
        WorkloadId workload,
        String target,
        String revision,
        @Nullable String directory,
        ImmutableSortedMap<String, String> inputs,
        Instant launchedAt,
        @Nullable ProcessIdentity identity,
        StartState start,
        String configHash) {

    /** How far starting has come. A plugin's Start is sent at most once to one process: some don't survive a second one. */
    public enum StartState {
        NOT_SENT,
        /** Sent, answer unknown: what a crash of ours leaves behind. */
        SENT,
        SUCCEEDED
    }

    public Handle withIdentity(ProcessIdentity known) {
        return new Handle(
                launchId, workload, target, revision, directory, inputs, launchedAt, known, start, configHash);
    }

    public Handle withStart(StartState state, String acceptedConfigHash) {
        return new Handle(
                launchId,
                workload,
                target,
                revision,
                directory,
                inputs,
                launchedAt,
                identity,
                state,
                acceptedConfigHash);
    }
}
