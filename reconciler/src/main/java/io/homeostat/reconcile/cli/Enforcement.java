package io.homeostat.reconcile.cli;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.CacheCleaner;
import io.homeostat.desired.layout.Layout;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Notation;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.AppliedDocument;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.ProvenRevision;
import io.homeostat.desired.store.StateLock;
import io.homeostat.desired.store.StateStore;
import io.homeostat.desired.store.StateStores;
import io.homeostat.desired.store.WorkloadHistory;
import io.homeostat.observe.ArchiveKey;
import io.homeostat.observe.MachineObserver;
import io.homeostat.observe.PluginChannel;
import io.homeostat.observe.ProcFs;
import io.homeostat.reconcile.loop.Convergence;
import io.homeostat.reconcile.loop.LogFiles;
import io.homeostat.reconcile.loop.MachineSteps;
import io.homeostat.reconcile.loop.Reconciler;
import io.homeostat.reconcile.loop.WorkloadPass;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Changes what is declared, and brings the machine to it: once, under the state directory's lock. */
final class Enforcement {
    /** Older ones go when a command is done. */
    private static final int EVENTS_KEPT = 10_000;

    private final Workspace workspace;
    private final Environment environment;
    private final Layout layout;
    private final Verb verb;
    private final Duration timeout;

    Enforcement(Workspace workspace, Verb verb, Duration timeout) {
        this.workspace = workspace;
        this.environment = workspace.environment();
        this.layout = workspace.layout();
        this.verb = verb;
        this.timeout = timeout;
    }

    /**
     * Runs.
     *
     * @param declare changes what is declared; nothing is done to the machine when it throws
     * @return the exit status
     */
    int run(Consumer<StateStore> declare) throws InterruptedException {
        Console console = workspace.console();
        Clock clock = environment.clock();
        Instant end = clock.instant().plus(timeout);
        try (Interrupts.Guard _ = environment.interrupts().guard();
                StateLock _ = StateLock.acquire(layout.lock(), verb.word(), timeout, clock, console::say)) {
            StateStores.Opened opened = StateStores.openForWriting(layout, clock);
            try (StateStore store = opened.store()) {
                opened.setAside().ifPresent(console::say);
                declare.accept(store);
                new Directories(environment).createRunDirectory(layout.runDir());
                int status = converge(store, Duration.between(clock.instant(), end));
                store.trimEvents(EVENTS_KEPT);
                cleanCache(store);
                return status;
            }
        }
    }

    /** Archives of what is neither declared nor the last good revision of anything. */
    private void cleanCache(StateStore store) {
        ImmutableSet<String> needed = Stream.concat(
                        store.applied().stream().map(AppliedDocument::workload),
                        store.histories().values().stream()
                                .map(WorkloadHistory::proven)
                                .flatMap(Stream::ofNullable)
                                .map(ProvenRevision::workload))
                .flatMap(workload -> Stream.ofNullable(workload.program().source())
                        .map(source -> ArchiveKey.of(workload.id(), workload.revision(), source)))
                .collect(ImmutableSet.toImmutableSet());
        try {
            new CacheCleaner(layout).keepOnly(needed);
        } catch (ActuationFailure e) {
            // Costs room and nothing else; the next command tries again.
            workspace.console().say(String.valueOf(e.getMessage()));
        }
    }

    private int converge(StateStore store, Duration left) throws InterruptedException {
        DesiredState desired = AppliedState.of(store.applied());
        ImmutableSet<WorkloadId> declared = desired.declarations().keySet();
        Clock clock = environment.clock();
        ProcFs procFs = new ProcFs();
        try (PluginChannel plugins = new PluginChannel(clock);
                MachineObserver observer = new MachineObserver(layout, procFs, plugins, clock)) {
            TreeSet<WorkloadId> all = new TreeSet<>(declared);
            store.handles().stream().map(Handle::workload).forEach(all::add);
            all.addAll(workspace.traces());
            try (Display display = display(all)) {
                PassRecord record = new PassRecord(all, declared, display);
                Convergence convergence = new Convergence(all, record);
                try (MachineSteps steps = new MachineSteps(layout, procFs, store, plugins, clock, display::download);
                        Reconciler reconciler = new Reconciler(
                                new WorkloadPass(
                                        id -> Optional.ofNullable(
                                                desired.declarations().get(id)),
                                        observer,
                                        steps,
                                        store,
                                        clock,
                                        new LogFiles(layout),
                                        convergence),
                                convergence,
                                Reconciler.untilSettled(clock))) {
                    reconciler.start();
                    all.forEach(reconciler::hint);
                    convergence.await(left);
                }
                return report(record.results("not done within " + Notation.text(timeout)), display);
            } catch (InterruptedException e) {
                workspace
                        .console()
                        .say(
                                verb.word()
                                        + ": interrupted; what is declared stays declared, what runs goes on running, and the next apply goes on from here");
                throw e;
            }
        }
    }

    private Display display(Set<WorkloadId> all) throws InterruptedException {
        int width = all.stream().mapToInt(id -> id.toString().length()).max().orElse(0);
        boolean live =
                environment.errIsTerminal() && !environment.variable("TERM").equals("dumb");
        return live
                ? new LiveDisplay(workspace.console(), TerminalSize.ofControllingTerminal(), width)
                : new PlainDisplay(workspace.console(), width);
    }

    private int report(ImmutableList<WorkloadResult> results, Display display) {
        display.close();
        Console console = workspace.console();
        if (console.json()) {
            Json.print(console.out(), json -> ResultsReport.write(results, json));
        } else {
            console.out().println(ResultsReport.summary(verb, results));
        }
        boolean failed = results.stream().anyMatch(result -> result.kind() == WorkloadResult.Kind.FAILED);
        return failed ? ExitStatus.FAILED : ExitStatus.OK;
    }
}
