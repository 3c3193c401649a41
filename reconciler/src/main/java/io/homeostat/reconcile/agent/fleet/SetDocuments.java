package io.homeostat.reconcile.agent.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.source.SetTexts;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateStore.ToApply;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.Choice.ReadRollout;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;

/**
 * What a set declares on this machine.
 *
 * @param nothing whether the set has no document of a workload, for whatever machine
 * @param rollouts their names
 * @param problems if there are any, nothing of the set is to be taken: it was published as a whole
 */
record SetDocuments(
        ImmutableList<ToApply> declared,
        boolean nothing,
        ImmutableSet<String> rollouts,
        ImmutableList<SourceProblem> problems) {

    /**
     * Reads a set.
     *
     * @param name where the set is; documents come from there and their path in the set
     * @param choice which of them are for this machine
     */
    static SetDocuments read(
            SourceName source, String name, ImmutableSortedMap<String, String> documents, Choice choice) {
        ReadResult read = SetTexts.read(name, documents, choice);
        return new SetDocuments(
                read.workloads().stream()
                        .map(found -> new ToApply(found.workload(), found.file()))
                        .collect(ImmutableList.toImmutableList()),
                read.workloads().isEmpty() && read.notHere().isEmpty(),
                read.rollouts().stream().map(ReadRollout::name).collect(ImmutableSet.toImmutableSet()),
                read.errors().stream()
                        .map(problem -> new SourceProblem(
                                source, problem.file(), problem.kind(), problem.whereInFile(), problem.toString()))
                        .collect(ImmutableList.toImmutableList()));
    }
}
