package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.fleet.MachineLabels;
import io.homeostat.desired.fleet.RolloutState;
import io.homeostat.desired.fleet.SetSelection;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.source.MachineSources;
import io.homeostat.desired.source.SetTexts;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateReader.SourceProblem;
import io.homeostat.desired.state.StateReader.StoredDeclaration;
import io.homeostat.desired.state.StateReader.StoredRevision;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import io.homeostat.desired.state.StoredSet;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.sqlite.StateLock;
import io.homeostat.desired.yaml.Choice.Verdict;
import io.homeostat.desired.yaml.DocumentReader.NotHere;
import io.homeostat.desired.yaml.Explain.Explanation;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostLabels;
import io.homeostat.observe.install.InstallationObserver;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.UnknownLaunches;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Overtaken;
import io.homeostat.reconcile.logs.LogFiles;
import io.homeostat.reconcile.logs.LogTails;
import io.homeostat.reconcile.logs.LogTails.MaskedTails;
import io.homeostat.reconcile.plan.Situations;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.runtime.InstanceObservers;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.status.Survey;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.Survey.Memory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The state directory that a command works on, and its machine.
 *
 * @param word the command, as typed
 * @param enforcer how changes are made here
 */
public record Workspace(String word, Environment environment, Console console, Layout layout, Enforcer enforcer) {
    /** For {@link #survey}: what is remembered, as it is. */
    public static final BiFunction<Memory, DesiredState, Memory> AS_REMEMBERED = (memory, desired) -> memory;

    /**
     * What a command sees that changes nothing.
     *
     * @param declarations what is stored, of all sources
     * @param sets how sources of published sets stand
     * @param findings what is wanted and what is left of what isn't
     */
    public record View(
            DesiredState desired,
            ImmutableList<StoredDeclaration> declarations,
            boolean everDeclared,
            ImmutableList<SourceProblem> problems,
            ImmutableList<StoredSet.Standing> sets,
            ImmutableList<Finding> findings) {}

    private record Stored(
            DesiredState desired,
            ImmutableList<StoredDeclaration> declarations,
            DesiredState stored,
            Memory memory,
            boolean everDeclared,
            ImmutableList<SourceProblem> problems,
            ImmutableList<StoredSet.Standing> sets) {}

    /**
     * Runs a command that no agent carries out.
     *
     * @throws CommandFailure when it can't be done, or may not be here
     */
    public int run(Command command) throws InterruptedException {
        if (command.needsConfiguration()) {
            enforcer.unconfigured().ifPresent(why -> {
                throw why;
            });
        }
        return command.run(this);
    }

    public Workspace with(Layout other) {
        return new Workspace(word, environment, console, other, enforcer);
    }

    /**
     * Changes what is stored and brings everything to it; returns the exit status. Notes are said at the end: while the store is changed,
     * nobody may be waited for, not even a slow reader.
     */
    public int enforce(Duration timeout, BiConsumer<StateStore, List<String>> change) throws InterruptedException {
        return enforce(timeout, Set.of(), change);
    }

    /**
     * As {@link #enforce(Duration, BiConsumer)}, for a change that is about some workloads.
     *
     * @param asked the workloads that decide the exit status, known once the store was changed; empty: all
     */
    public int enforce(Duration timeout, Set<WorkloadId> asked, BiConsumer<StateStore, List<String>> change)
            throws InterruptedException {
        List<String> notes = new ArrayList<>();
        int status = enforcer.enforce(
                this,
                new Enforcer.Goal(
                        store -> change.accept(store, notes),
                        ImmutableList.of(),
                        ImmutableSet.of(),
                        Overtaken::declared,
                        timeout,
                        asked));
        notes.forEach(console::say);
        return status;
    }

    /** What placement of documents goes by on this machine. */
    MachineLabels labels() {
        return new HostLabels().look(enforcer.config().labels(), layout.instanceId());
    }

    /** Where the agent that runs here, or the next one, reads what is declared on this machine. */
    MachineSources sources(MachineLabels labels) {
        return new MachineSources(
                enforcer.config(), new UserDirectories(environment)::desiredFiles, labels, environment.isRoot());
    }

    /**
     * What of files and published sets is not for this machine, and why; empty where nobody knows what is configured here.
     */
    ImmutableList<NotHere> notHere() {
        if (enforcer.unconfigured().isPresent()) {
            return ImmutableList.of();
        }
        MachineLabels labels = labels();
        ImmutableList.Builder<NotHere> notHere = ImmutableList.builder();
        notHere.addAll(sources(labels).notHere(environment.clock()));
        remembered(state -> {
                    ImmutableMap<String, RolloutState> rollouts = SetSelection.states(state.rolloutStates());
                    return SetTexts.notHere(
                            state, source -> SetSelection.of(state, rollouts, source, labels, layout.instanceId()));
                })
                .ifPresent(notHere::addAll);
        return notHere.build();
    }

    /** Why documents that name machines are for this one; nothing of those that name none, or where nobody can tell that they are. */
    Function<Workload, ImmutableList<String>> reasons() {
        if (enforcer.unconfigured().isPresent()) {
            return workload -> ImmutableList.of();
        }
        MachineLabels labels = labels();
        return workload -> labels.verdict(workload, null) instanceof Verdict.Applies
                ? workload.placement().reasons(labels.labels())
                : ImmutableList.of();
    }

    /** Looks at what is remembered here; empty when there is nothing yet. */
    public <T> Optional<T> remembered(Function<StateReader, T> look) {
        return enforcer.remembered(layout, look);
    }

    /**
     * What documents are read beside.
     *
     * @param declared what stays declared, by whomever
     * @param origins from which something was applied
     */
    public record Known(ImmutableSet<WorkloadId> declared, ImmutableSet<String> origins) {
        public static final Known NOTHING = new Known(ImmutableSet.of(), ImmutableSet.of());
    }

    /** What is declared beside these documents, without what they prune. */
    Known beside(DocumentTexts documents) {
        try {
            return remembered(reader -> known(reader.declarations(), documents)).orElse(Known.NOTHING);
        } catch (StoreException e) {
            // A damaged database is set aside by whoever changes it, and told of by whoever only looks.
            return Known.NOTHING;
        }
    }

    /** Those of which what was applied can't be read any more: nothing else can be done before it is applied again or deleted. */
    ImmutableSet<WorkloadId> unreadable(Collection<WorkloadId> among) {
        try {
            return remembered(StateReader::unreadable).orElse(ImmutableSet.of()).stream()
                    .filter(among::contains)
                    .collect(ImmutableSet.toImmutableSet());
        } catch (StoreException e) {
            // As above.
            return ImmutableSet.of();
        }
    }

    private static Known known(ImmutableList<StoredDeclaration> stored, DocumentTexts documents) {
        return new Known(
                stored.stream()
                        .filter(one -> !documents.prune()
                                || one.source() != SourceName.APPLIED
                                || !documents.origins().contains(one.origin()))
                        .map(one -> one.workload().id())
                        .collect(ImmutableSet.toImmutableSet()),
                stored.stream()
                        .filter(one -> one.source() == SourceName.APPLIED)
                        .map(StoredDeclaration::origin)
                        .collect(ImmutableSet.toImmutableSet()));
    }

    /** What is remembered of a workload's launches, now. */
    public ImmutableList<Instance> instances(WorkloadId id) {
        return remembered(reader -> reader.instances(id)).orElse(ImmutableList.of());
    }

    /** Those of which nothing runs, by somebody who has looked for what no state knows. */
    ImmutableList<WorkloadId> idle(ImmutableList<WorkloadId> workloads, UnknownLaunches unknown) {
        try (InstanceObservers observers = observers(unknown, this::instances)) {
            return workloads.stream().filter(id -> !observers.mayRun(id)).collect(ImmutableList.toImmutableList());
        }
    }

    /**
     * What looks at instances; touches nothing.
     *
     * @param instances what is remembered of those of a workload
     */
    InstanceObservers observers(Function<WorkloadId, ImmutableList<Instance>> instances) {
        return observers(unknown(), instances);
    }

    private InstanceObservers observers(
            UnknownLaunches unknown, Function<WorkloadId, ImmutableList<Instance>> instances) {
        return new InstanceObservers(Machine.toLookAt(layout, new ProcFs(), unknown, environment.clock(), instances));
    }

    /**
     * What runs and no state knows, for all questions before anything is done: all of /proc is read for it. An agent has looked for them
     * at its start, and remembers them since.
     */
    UnknownLaunches unknown() {
        ProcFs procFs = new ProcFs();
        return enforcer.agent().isPresent()
                ? UnknownLaunches.none(layout, procFs)
                : new UnknownLaunches(layout, procFs);
    }

    /** What a workload that runs takes by rules of its own. */
    public Observation<ImmutableList<Explanation>> explain(WorkloadId id) {
        try (InstanceObservers observers = observers(this::instances)) {
            return observers.explain(id);
        }
    }

    /**
     * Every workload that has left a trace on the machine.
     *
     * @throws CommandFailure when the machine can't be seen
     */
    public ImmutableSet<WorkloadId> traces() {
        return traces(unknown());
    }

    /** The same, by somebody who has looked for those that no state knows. */
    ImmutableSet<WorkloadId> traces(UnknownLaunches unknown) {
        return seen(unknown.beside(new InstallationObserver(layout).traces()));
    }

    /**
     * Those of which only processes are left, which no state knows.
     *
     * @throws CommandFailure when the machine can't be seen
     */
    ImmutableSet<WorkloadId> runningUnknown(UnknownLaunches unknown) {
        return seen(unknown.beside(Observation.seen(ImmutableSet.of())));
    }

    private static ImmutableSet<WorkloadId> seen(Observation<ImmutableSet<WorkloadId>> traces) {
        return switch (traces) {
            case Observation.Seen<ImmutableSet<WorkloadId>>(var found) -> found;
            case Observation.Unseen<ImmutableSet<WorkloadId>>(String why) ->
                throw new CommandFailure(why + "; what has to be removed is not known, so nothing was done");
        };
    }

    /**
     * What the next apply does about those that have crashed, by id, where no agent runs: nobody waits for the end of their pauses. As
     * {@code plan} says.
     */
    ImmutableMap<WorkloadId, WorkloadPlan> plansOfNextApply(ImmutableList<Finding> findings)
            throws InterruptedException {
        ImmutableSet<WorkloadId> crashed = findings.stream()
                .filter(finding -> finding.plan().reason() == Reason.CRASH_LOOP
                        || finding.plan().reason() == Reason.GIVEN_UP)
                .map(Finding::id)
                .collect(ImmutableSet.toImmutableSet());
        if (crashed.isEmpty() || enforcer.agent().isPresent()) {
            return ImmutableMap.of();
        }
        return survey(
                        StoredState::desired,
                        (memory, desired) -> memory.withoutCrashes(),
                        Situations.Depth.PRESENCE,
                        crashed::contains)
                .findings()
                .stream()
                .collect(ImmutableMap.toImmutableMap(Finding::id, Finding::plan));
    }

    /** Whether an agent, or a command, is at work here. */
    boolean isEnforced() {
        return enforcer.agent().isPresent() || StateLock.holder(layout.lock()).isPresent();
    }

    /** The store is opened for a log alone, and only when something has ended. */
    private LogTails logs(DesiredState declared) {
        return id -> remembered(reader ->
                        new MaskedTails(new LogFiles(layout), declared::get, reader, enforcer.launched()).lastLines(id))
                .orElse("");
    }

    /**
     * Looks at the machine and touches nothing.
     *
     * @param wanted makes the desired state of what is stored
     * @param remembered what the plan is to go by, of what is remembered, given what is wanted
     * @param asked the workloads to look at
     * @throws CommandFailure when the machine can't be seen
     */
    public View survey(
            Function<ImmutableList<StoredDeclaration>, DesiredState> wanted,
            BiFunction<Memory, DesiredState, Memory> remembered,
            Situations.Depth depth,
            Predicate<WorkloadId> asked)
            throws InterruptedException {
        Policy policy = enforcer.policy();
        Stored memory = remembered(reader -> {
                    ImmutableList<StoredDeclaration> stored = reader.declarations();
                    DesiredState desired = wanted.apply(stored);
                    return new Stored(
                            desired.under(policy),
                            stored,
                            StoredState.desired(stored).under(policy),
                            remembered.apply(Memory.of(reader), desired),
                            reader.everDeclared(),
                            reader.problems(),
                            reader.publishedSets());
                })
                .orElseGet(() -> new Stored(
                        wanted.apply(ImmutableList.of()).under(policy),
                        ImmutableList.of(),
                        DesiredState.EMPTY,
                        Memory.NONE,
                        false,
                        ImmutableList.of(),
                        ImmutableList.of()));
        // A probe that runs a command would outlive whoever asks for it.
        try (Interrupts.Guard _ = environment.interrupts().guard();
                MetadataClient metadata = environment.metadata();
                InstanceObservers instances = observers(memory.memory().instances()::get)) {
            Survey.Findings seen = new Survey(
                            instances.with(metadata),
                            memory.memory(),
                            logs(memory.stored()),
                            enforcer::underWay,
                            environment.clock())
                    .everything(memory.desired(), memory.stored(), depth, asked);
            if (!seen.blind().isEmpty()) {
                throw new CommandFailure(String.join("; ", seen.blind())
                        + "; run as the user that the state directory belongs to, or choose another with --state-dir");
            }
            ImmutableList<Finding> findings =
                    seen.workloads().stream().filter(Finding::matters).collect(ImmutableList.toImmutableList());
            return new View(
                    memory.desired(),
                    memory.declarations(),
                    memory.everDeclared(),
                    memory.problems(),
                    memory.sets(),
                    remembered(reader -> masked(findings, reader::revisions))
                            .orElseGet(() -> masked(findings, id -> ImmutableList.of())));
        }
    }

    private static ImmutableList<Finding> masked(
            ImmutableList<Finding> findings, Function<WorkloadId, ImmutableList<StoredRevision>> revisions) {
        return findings.stream()
                .map(finding -> MaskedFindings.of(finding, revisions))
                .collect(ImmutableList.toImmutableList());
    }
}
