package io.homeostat.reconcile.command;

import com.google.common.base.Suppliers;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.source.StoredState;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.sqlite.StateLock;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.command.environment.AgentFile;
import io.homeostat.reconcile.command.environment.AgentStarted;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.Environment.Interrupts;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.MachineClaim;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.logs.LogFiles;
import io.homeostat.reconcile.logs.LogKeeper;
import io.homeostat.reconcile.logs.LogTails.MaskedTails;
import io.homeostat.reconcile.loop.DesiredSource;
import io.homeostat.reconcile.loop.Housekeeping;
import io.homeostat.reconcile.loop.MachineSteps;
import io.homeostat.reconcile.loop.MachineSteps.ArchiveRules;
import io.homeostat.reconcile.loop.PassId.Trigger;
import io.homeostat.reconcile.loop.Reconciler;
import io.homeostat.reconcile.loop.Turns;
import io.homeostat.reconcile.loop.WorkloadPass;
import io.homeostat.reconcile.plan.DependencyGraph;
import io.homeostat.reconcile.runtime.InstanceObservers;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.Runtimes;
import io.homeostat.reconcile.status.Differences;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Changes what is declared and converges once, alone: under the state directory's lock, with a loop that ends when nothing is under way. */
public final class DirectEnforcer implements Enforcer {
    private final Supplier<AgentConfig> config;
    private final Optional<CommandFailure> unconfigured;

    private DirectEnforcer(Supplier<AgentConfig> config, Optional<CommandFailure> unconfigured) {
        this.config = config;
        this.unconfigured = unconfigured;
    }

    /** @param config of the agent that would run here, read when it is needed */
    public DirectEnforcer(Supplier<AgentConfig> config) {
        this(config, Optional.empty());
    }

    /** Where nobody knows what is configured, nor for which machine: what was launched ends there, and nothing else is done. */
    public static DirectEnforcer endingOnly(CommandFailure why) {
        return new DirectEnforcer(
                () -> {
                    throw why;
                },
                Optional.of(why));
    }

    @Override
    public AgentConfig config() {
        return config.get();
    }

    @Override
    public Optional<CommandFailure> unconfigured() {
        return unconfigured;
    }

    @Override
    public int enforce(Workspace workspace, Goal goal) throws InterruptedException {
        Clock clock = workspace.environment().clock();
        Instant end = clock.instant().plus(goal.timeout());
        return alone(workspace, goal.timeout(), (here, store) -> {
            boolean ending = unconfigured.isPresent();
            if (!ending) {
                // Before anything is stored, which nobody could bring about without it.
                new UserDirectories(here.environment())
                        .createRunDirectory(here.layout().runDir());
            }
            DesiredState before = StoredState.desired(store.declarations());
            goal.store().accept(store);
            int status = converge(here, goal, before, store, Duration.between(clock.instant(), end));
            if (unconfigured.isEmpty()) {
                cleanUp(store, here);
            }
            if (!ending) {
                new LogKeeper(here.layout(), clock)
                        .keep(config().limits().logBytesPerWorkload().bytes());
            }
            return status;
        });
    }

    @Override
    public void remember(Workspace workspace, ImmutableList<WorkloadId> ids, Consumer<StateStore> change)
            throws InterruptedException {
        alone(workspace, RequestFields.DEFAULT_TIMEOUT, (here, store) -> {
            change.accept(store);
            return ExitStatus.OK;
        });
    }

    @Override
    public int undisturbed(Workspace workspace, Enforcer.Work work) throws InterruptedException {
        try (Interrupts.Guard _ = workspace.environment().interrupts().guard();
                StateLock _ = lock(workspace, RequestFields.DEFAULT_TIMEOUT)) {
            return work.in(new Turns());
        }
    }

    private static StateLock lock(Workspace workspace, Duration patience) throws InterruptedException {
        return StateLock.acquire(
                workspace.layout().lock(),
                workspace.word(),
                patience,
                workspace.environment().clock(),
                workspace.console()::say,
                () -> handOver(workspace.layout()));
    }

    /** An agent holds the lock from its first moment, and for good; it listens a little later. */
    private static void handOver(Layout layout) {
        if (AgentFile.running(layout).isPresent()) {
            throw new AgentStarted();
        }
    }

    private int alone(Workspace workspace, Duration patience, Exclusive work) throws InterruptedException {
        Console console = workspace.console();
        Clock clock = workspace.environment().clock();
        try (Interrupts.Guard _ = workspace.environment().interrupts().guard();
                StateLock _ = lock(workspace, patience)) {
            Optional<MachineClaim.Claimed> claimed = unconfigured.isPresent()
                    ? Optional.empty()
                    : Optional.of(
                            new MachineClaim(workspace.environment()).claim(workspace.layout(), config().instanceId()));
            Layout layout = claimed.map(MachineClaim.Claimed::layout).orElse(workspace.layout());
            StateStores.Opened opened = StateStores.openForWriting(layout, clock);
            try (StateStore store = opened.store()) {
                opened.setAside().ifPresent(console::say);
                claimed.ifPresent(now -> now.tell(store, console::say, clock));
                return work.on(workspace.with(layout), store);
            }
        }
    }

    /** What nobody else may do meanwhile. */
    @FunctionalInterface
    private interface Exclusive {
        int on(Workspace here, StateStore store) throws InterruptedException;
    }

    private void cleanUp(StateStore store, Workspace workspace) {
        Housekeeping housekeeping = new Housekeeping(workspace.layout(), store);
        if (!store.eventQueue().open()) {
            // Else an agent does it, which may be configured by another file.
            housekeeping.trimEvents(
                    config().limits().events(), workspace.environment().clock().instant());
        }
        try {
            housekeeping.cleanCache(
                    config().limits(), workspace.environment().clock().instant());
        } catch (ActuationFailure e) {
            // Costs room and nothing else; the next command tries again.
            workspace.console().say(String.valueOf(e.getMessage()));
        }
    }

    private ArchiveRules rules() {
        try {
            return ArchiveRules.of(config());
        } catch (ActuationFailure e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }

    private int converge(Workspace workspace, Goal goal, DesiredState before, StateStore store, Duration left)
            throws InterruptedException {
        // Where they are not known nothing is fetched.
        Supplier<ArchiveRules> rules = unconfigured.isPresent() ? this::rules : Suppliers.ofInstance(rules());
        Layout layout = workspace.layout();
        DesiredState desired = StoredState.desired(store.declarations()).under(policy());
        DesiredSource source = DesiredSource.of(desired);
        ImmutableSet<WorkloadId> declared = desired.declarations().keySet();
        Clock clock = workspace.environment().clock();
        Machine machine = new Machine(layout, new ProcFs(), clock, store::instances);
        try (MetadataClient metadata = workspace.environment().metadata();
                InstanceObservers instances = new InstanceObservers(machine)) {
            Runtimes runtimes = new Runtimes(instances);
            TreeSet<WorkloadId> all = new TreeSet<>(declared);
            // What never ran has left nothing else, and is forgotten by the pass that finds it declared by nobody.
            all.addAll(store.remembered());
            all.addAll(workspace.traces(machine.unknown()));
            new Housekeeping(layout, store).collectLeftovers(declared, ImmutableSet.copyOf(all), clock.instant());
            all.retainAll(goal.touched(all, desired));
            if (unconfigured.isPresent()) {
                // Only what is to end.
                all.removeIf(id -> declared.contains(id)
                        && store.pause(id).filter(Pause::stopped).isEmpty());
            }
            ImmutableSet<WorkloadId> touched = ImmutableSet.copyOf(all);
            all.addAll(DependencyGraph.partsOf(touched, store.instances(), desired));
            try (ApplyProgress progress = new ApplyProgress(
                    workspace,
                    goal.asked().isEmpty() && all.size() > touched.size() ? touched : goal.asked(),
                    goal.overtaken(desired),
                    goal.rest(),
                    all,
                    declared,
                    id -> Differences.between(before, desired, id))) {
                try (MachineSteps steps = new MachineSteps(layout, store, runtimes, clock, rules, progress::download);
                        WorkloadPass pass = new WorkloadPass(
                                source,
                                instances.with(metadata),
                                steps,
                                store,
                                clock,
                                new MaskedTails(new LogFiles(layout), source::declaration, store, machine.launched()),
                                progress);
                        Reconciler reconciler = new Reconciler(
                                pass, all::contains, progress, Reconciler.untilSettled(clock), () -> {})) {
                    reconciler.start();
                    all.forEach(id -> reconciler.hint(id, Trigger.REQUEST));
                    // Nobody would go on with the others.
                    Instant end = clock.instant().plus(left);
                    progress.await(left, Set.of());
                    // What was done first may have ended while the rest took its time.
                    progress.lookAgain().forEach(id -> reconciler.hint(id, Trigger.RESYNC));
                    progress.await(Duration.between(clock.instant(), end), Set.of());
                }
                // Nobody goes on with that.
                runtimes.upkeep();
                return progress.report(goal.timeout());
            } catch (InterruptedException e) {
                boolean withdrew = !declared.containsAll(before.declarations().keySet());
                workspace
                        .console()
                        .say(
                                workspace.word() + ": interrupted; "
                                        + (withdrew
                                                ? "what was withdrawn stays withdrawn, what is left of it runs on, and the next apply or delete goes on"
                                                        + " from here"
                                                : "what is declared stays declared, what runs goes on running, and the next apply goes on from here"));
                throw e;
            }
        }
    }
}
