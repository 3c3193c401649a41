package io.homeostat.reconcile.command;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.StateReader;
import io.homeostat.proto.agent.WorkloadsRequest;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Which workloads a command is about: those that are named, those that are declared with some labels, or all that are declared.
 *
 * @param labels all of which a workload has to have
 */
public record Selection(ImmutableList<WorkloadId> names, ImmutableMap<String, String> labels, boolean all) {
    public Selection {
        if ((names.isEmpty() ? 0 : 1) + (labels.isEmpty() ? 0 : 1) + (all ? 1 : 0) != 1) {
            throw new UsageException(
                    "name workloads (KIND/NAME), or choose them with -l LABEL=VALUE, or with --all: one of the three");
        }
    }

    public static Selection of(ImmutableList<WorkloadId> names) {
        return new Selection(names, ImmutableMap.of(), false);
    }

    static Selection of(WorkloadsRequest request) {
        return new Selection(
                RequestFields.workloads(request.getWorkloadsList()),
                ImmutableMap.copyOf(request.getLabelsMap()),
                request.getAll());
    }

    /** As a request has it in which one workload may be named alone. */
    public static Selection of(String workload, boolean hasSelection, WorkloadsRequest selection) {
        return hasSelection ? of(selection) : of(ImmutableList.of(RequestFields.workload(workload)));
    }

    /** The other way round. */
    public void write(Consumer<String> workload, Consumer<WorkloadsRequest> selection) {
        if (isOne()) {
            workload.accept(names.getFirst().toString());
        } else {
            selection.accept(request().build());
        }
    }

    WorkloadsRequest.Builder request() {
        return WorkloadsRequest.newBuilder()
                .addAllWorkloads(RequestFields.words(names))
                .putAllLabels(labels)
                .setAll(all);
    }

    /** Whether the workloads have yet to be looked up. */
    public boolean isOpen() {
        return names.isEmpty();
    }

    /** Whether one workload is named, which is answered by itself and not in a list. */
    public boolean isOne() {
        return names.size() == 1;
    }

    /** Those that are named, or the chosen ones among what is in force. */
    public ImmutableList<WorkloadId> chosen(StateReader reader, Predicate<Workload> eligible) {
        return isOpen()
                ? among(StoredState.desired(reader.declarations()), eligible)
                : ImmutableSet.copyOf(names).asList();
    }

    /** Adds the fields of a workload to an object. */
    @FunctionalInterface
    public interface Fields<T> {
        ObjectNode add(ObjectNode json, WorkloadId id, T value);
    }

    /** JSON of what was found: of one that was named alone an object, else a list of workloads. */
    public <T> void print(Map<WorkloadId, T> found, Fields<T> fields, Console console) {
        if (isOne()) {
            found.forEach((id, value) -> Json.print(console.out(), fields.add(Json.versioned(), id, value)));
            return;
        }
        ObjectNode json = Json.versioned();
        json.set(
                "workloads",
                Json.array(found.entrySet(), one -> fields.add(Json.object(), one.getKey(), one.getValue())));
        Json.print(console.out(), json);
    }

    /** The chosen ones among what is in force: what another source overrules does not count. */
    ImmutableList<WorkloadId> among(DesiredState desired, Predicate<Workload> eligible) {
        return among(desired.declarations().values().stream().map(Declaration::workload), eligible);
    }

    /** The chosen ones among what is declared. */
    ImmutableList<WorkloadId> among(Stream<Workload> declared, Predicate<Workload> eligible) {
        return declared.filter(workload -> has(workload, labels) && eligible.test(workload))
                .map(Workload::id)
                .sorted()
                .distinct()
                .collect(ImmutableList.toImmutableList());
    }

    static boolean has(Workload workload, Map<String, String> labels) {
        return workload.labels().entrySet().containsAll(labels.entrySet());
    }

    /**
     * Tells people that this chooses nothing, and returns the exit status. Labels that nothing has are as wrong as a name that nothing
     * has; all of nothing is done.
     *
     * @param what is not there, as in "is declared"
     */
    public int nothing(String what, Workspace workspace) {
        String message = "nothing " + what + " here " + words();
        if (all) {
            workspace.console().say(message);
            return ExitStatus.OK;
        }
        workspace.console().failPart(workspace.word(), message + "; homeostat get --all shows what is declared");
        return ExitStatus.FAILED;
    }

    /** For people, as the end of a sentence: "with team=sre". */
    private String words() {
        return all
                ? "at all"
                : labels.entrySet().stream()
                        .map(label -> label.getKey() + "=" + label.getValue())
                        .collect(Collectors.joining(",", "with ", ""));
    }
}
