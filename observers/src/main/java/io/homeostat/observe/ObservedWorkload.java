package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.limits.ObservedLimits;
import java.util.Optional;

/**
 * What is true of one workload now.
 *
 * @param installations its complete installations
 * @param active name of the directory that its symlink points to; empty when there is none
 * @param instances its launches that are not known to be over, oldest first
 * @param limits how those that run are limited
 * @param residue whether anything else of it is left: its state, its log, an interrupted unpacking, what an ended instance left behind
 * @param files what is at the paths whose contents matter to it
 * @param refusal why it can't be launched as it is declared, for people; empty when nothing is known to be wrong
 */
public record ObservedWorkload(
        WorkloadId id,
        Observation<ImmutableList<Installation>> installations,
        Observation<Optional<String>> active,
        Observation<ImmutableList<ObservedInstance>> instances,
        Observation<ObservedLimits> limits,
        Observation<Boolean> residue,
        ImmutableMap<String, FileContent> files,
        String refusal) {
    /** One to which no file's content matters. */
    public ObservedWorkload(
            WorkloadId id,
            Observation<ImmutableList<Installation>> installations,
            Observation<Optional<String>> active,
            Observation<ImmutableList<ObservedInstance>> instances,
            Observation<ObservedLimits> limits,
            Observation<Boolean> residue) {
        this(id, installations, active, instances, limits, residue, ImmutableMap.of(), "");
    }

    /** A workload of which there is no trace. */
    public static ObservedWorkload absent(WorkloadId id) {
        return new ObservedWorkload(
                id,
                Observation.seen(ImmutableList.of()),
                Observation.seen(Optional.empty()),
                Observation.seen(ImmutableList.of()),
                Observation.seen(ObservedLimits.NONE),
                Observation.seen(false));
    }

    /** With something else left of it; what could not be seen stays unseen. */
    public ObservedWorkload withResidue() {
        return new ObservedWorkload(
                id, installations, active, instances, limits, residue.map(any -> true), files, refusal);
    }

    public ObservedWorkload withInstances(ImmutableList<ObservedInstance> known) {
        return new ObservedWorkload(
                id, installations, active, Observation.seen(known), limits, residue, files, refusal);
    }

    public ObservedWorkload withFiles(ImmutableMap<String, FileContent> contents) {
        return new ObservedWorkload(id, installations, active, instances, limits, residue, contents, refusal);
    }

    public ObservedWorkload withRefusal(String why) {
        return new ObservedWorkload(id, installations, active, instances, limits, residue, files, why);
    }
}
