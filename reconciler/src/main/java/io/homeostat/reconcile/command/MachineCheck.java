package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.desired.yaml.DocumentPlaces;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.ReadWorkload;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.desired.yaml.Problem;
import io.homeostat.observe.FieldCheck;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.plan.KindTraits;
import io.homeostat.reconcile.plan.Traits;
import io.homeostat.reconcile.runtime.InstanceObservers;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What this machine says of documents, beyond what they say themselves.
 *
 * @param errors what it refuses
 * @param unchecked what it could not be asked about, with the reason
 */
public record MachineCheck(ImmutableList<Problem> errors, ImmutableList<Problem> unchecked) {
    /** Who does not answer is not asked about a hundred documents one after the other. */
    private static final Duration LONGEST = Duration.ofSeconds(10);

    private static final MachineCheck NOTHING = new MachineCheck(ImmutableList.of(), ImmutableList.of());

    /**
     * Asks about all documents of which it has something to say; touches nothing, and takes some seconds at most.
     *
     * @param workspace asked for only when there are such documents
     * @param texts of which the documents were read
     */
    public static MachineCheck of(Supplier<Workspace> workspace, Texts texts, ReadResult read) {
        ImmutableList<ReadWorkload> asked = read.workloads().stream()
                .filter(one -> KindTraits.of(one.workload().id().kind()).isCheckedByMachine())
                .collect(ImmutableList.toImmutableList());
        if (asked.isEmpty()) {
            return NOTHING;
        }
        Findings findings = new Findings(new DocumentPlaces(texts));
        try {
            Workspace here = workspace.get();
            check(here, asked, read, findings);
        } catch (StoreException | CommandFailure e) {
            // Whoever changes something, or looks at what is stored, says more about it.
            asked.forEach(one -> findings.unchecked(one, ImmutableList.of(), String.valueOf(e.getMessage())));
        }
        return new MachineCheck(findings.errors.build(), findings.unchecked.build());
    }

    private static void check(
            Workspace workspace, ImmutableList<ReadWorkload> asked, ReadResult read, Findings findings) {
        ImmutableMap<WorkloadId, Declaration> stored = workspace
                .remembered(reader -> StoredState.desired(reader.declarations()).declarations())
                .orElse(ImmutableMap.of());
        Map<WorkloadId, Workload> declared = new HashMap<>();
        read.declared().forEach(one -> declared.put(one.id(), one));
        Map<WorkloadId, ImmutableList<Instance>> instances = new HashMap<>();
        long begun = workspace.environment().ticker().read();
        try (InstanceObservers observers =
                workspace.observers(id -> instances.computeIfAbsent(id, workspace::instances))) {
            for (ReadWorkload one : asked) {
                Workload workload = one.workload();
                Optional<WorkloadId> parent = Traits.of(workload).parent();
                if (workspace.environment().ticker().read() - begun > LONGEST.toNanos()) {
                    findings.unchecked(one, ImmutableList.of(), "this machine took too long to answer");
                } else if (parent.isPresent() && isChanged(declared.get(parent.get()), stored.get(parent.get()))) {
                    findings.unchecked(one, ImmutableList.of(), parent.get() + " is declared here, and not as it runs");
                } else if (parent.isPresent()
                        && isReplaced(
                                stored.get(parent.get()),
                                instances.computeIfAbsent(parent.get(), workspace::instances))) {
                    findings.unchecked(one, ImmutableList.of(), parent.get() + " does not run as it is declared");
                } else {
                    Declaration inForce = stored.get(workload.id());
                    findings.add(one, observers.check(workload, inForce == null ? null : inForce.workload()));
                }
            }
        }
    }

    /** What is about to become another one can't be asked. */
    private static boolean isChanged(@Nullable Workload declared, @Nullable Declaration inForce) {
        return declared != null
                && inForce != null
                && !CanonicalDocument.of(declared).hash().equals(inForce.hash());
    }

    /** What runs until its replacement does can't speak for that. */
    private static boolean isReplaced(@Nullable Declaration inForce, ImmutableList<Instance> launches) {
        return inForce != null
                && launches.stream()
                        .filter(Instance::isStarted)
                        .max(Comparator.comparing(Instance::launchedAt))
                        .filter(running ->
                                !running.revision().equals(inForce.workload().revision()))
                        .isPresent();
    }

    private record Findings(
            DocumentPlaces places, ImmutableList.Builder<Problem> errors, ImmutableList.Builder<Problem> unchecked) {
        Findings(DocumentPlaces places) {
            this(places, ImmutableList.builder(), ImmutableList.builder());
        }

        void add(ReadWorkload read, FieldCheck check) {
            check.problems()
                    .forEach(problem -> errors.add(places.problem(
                            read,
                            problem.path(),
                            DeclaredSecrets.given(read.workload()).mask(problem.message()))));
            if (!check.unchecked().isEmpty()) {
                unchecked(read, check.field(), check.unchecked());
            }
        }

        void unchecked(ReadWorkload read, ImmutableList<String> field, String why) {
            String what = field.isEmpty() ? "" : String.join(".", field) + " of ";
            unchecked.add(places.note(read, field, what + read.workload().id() + " was not checked: " + why));
        }
    }
}
