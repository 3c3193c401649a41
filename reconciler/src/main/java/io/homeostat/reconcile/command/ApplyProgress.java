package io.homeostat.reconcile.command;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import io.homeostat.reconcile.command.output.Overtaken;
import io.homeostat.reconcile.command.output.PassSummary;
import io.homeostat.reconcile.command.output.ProgressDisplay;
import io.homeostat.reconcile.command.output.ProgressDisplay.LiveDisplay;
import io.homeostat.reconcile.command.output.TerminalSize;
import io.homeostat.reconcile.command.output.WorkloadResult;
import io.homeostat.reconcile.loop.Convergence;
import io.homeostat.reconcile.loop.PassId;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Change;
import java.time.Duration;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/** How a set of workloads is brought to what is declared: shown while it lasts, waited for, and summed up at the end. */
public final class ApplyProgress implements PassListener, AutoCloseable {
    private final Console console;
    private final String word;
    private final ProgressDisplay display;
    private final PassSummary summary;
    private final Convergence convergence;
    private final Set<WorkloadId> asked;
    private Set<WorkloadId> waited = Set.of();

    /**
     * @param asked the workloads that decide the exit status, and whose failures are told; empty: all
     * @param overtaken whether somebody else wants something else meanwhile
     * @param rest why a workload may be at rest and is done, though it is not as declared; empty: for nothing
     * @param all the workloads that passes are about
     * @param declared those of them that are wanted
     * @param changed what was just declared otherwise of one
     */
    public ApplyProgress(
            Workspace workspace,
            Set<WorkloadId> asked,
            Overtaken overtaken,
            ImmutableSet<Reason> rest,
            Set<WorkloadId> all,
            Set<WorkloadId> declared,
            Function<WorkloadId, ImmutableList<Change>> changed)
            throws InterruptedException {
        this.console = workspace.console();
        this.word = workspace.word();
        this.asked = asked;
        this.display = display(workspace, all);
        this.summary = new PassSummary(
                all,
                declared,
                asked,
                changed,
                display,
                overtaken,
                rest,
                workspace.environment().ticker());
        this.convergence = new Convergence(all, summary, workspace.environment().ticker());
    }

    /**
     * Waits until nothing is under way any more, or the time is over.
     *
     * @param some the workloads that are waited for; empty: all
     */
    public void await(Duration patience, Set<WorkloadId> some) throws InterruptedException {
        waited = some;
        convergence.await(patience, some);
    }

    /** Those that came to rest a while ago, which count as under way until they are looked at once more. */
    public ImmutableSet<WorkloadId> lookAgain() {
        return convergence.lookAgain();
    }

    @Override
    public Progress download(WorkloadId id) {
        return summary.download(id);
    }

    @Override
    public void begun(PassId pass) {
        convergence.begun(pass);
    }

    @Override
    public void looked(Situation situation, WorkloadPlan plan) {
        convergence.looked(situation, plan);
    }

    @Override
    public void starting(Step step) {
        convergence.starting(step);
    }

    @Override
    public void concerned(Set<WorkloadId> others) {
        convergence.concerned(others);
    }

    @Override
    public void finished(WorkloadId id, PassResult next) {
        convergence.finished(id, next);
        if (next instanceof PassResult.UnderWay && summary.isRestarted(id)) {
            convergence.enough(id);
        }
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        convergence.broken(id, problem);
    }

    /** Prints the result and returns the exit status. */
    public int report(Duration timeout) {
        ImmutableList<WorkloadResult> results = summary.results("not done within " + Notation.text(timeout), waited);
        display.close();
        ImmutableList<WorkloadResult> told =
                results.stream().filter(this::counts).collect(ImmutableList.toImmutableList());
        if (console.json()) {
            Json.print(console.out(), WorkloadResult.json(told));
        } else {
            console.out().println(WorkloadResult.summary(word, told));
        }
        ImmutableList<WorkloadId> undone = results.stream()
                .filter(WorkloadResult::isLeftUndone)
                .map(WorkloadResult::workload)
                .collect(ImmutableList.toImmutableList());
        if (asked.isEmpty()) {
            return undone.isEmpty() ? ExitStatus.OK : ExitStatus.FAILED;
        }
        // What somebody has stopped is as he wants it.
        String others = words(
                results.stream()
                        .filter(one -> one.isLeftUndone() && one.plan().reason() != Reason.STOPPED)
                        .map(WorkloadResult::workload)
                        .collect(ImmutableList.toImmutableList()),
                asked);
        if (!others.isEmpty()) {
            console.say(others + ": not as declared; the exit status of this " + word + " is not about that");
        }
        String unfinished = words(summary.unfinished(), waited);
        if (!unfinished.isEmpty()) {
            console.say(unfinished + ": still under way, which this " + word + " did not wait for");
        }
        return undone.stream().anyMatch(asked::contains) ? ExitStatus.FAILED : ExitStatus.OK;
    }

    /** The summary is of what decides the exit status, and of what was done beside. */
    private boolean counts(WorkloadResult result) {
        return asked.isEmpty() || asked.contains(result.workload()) || !result.isLeftUndone();
    }

    private static String words(ImmutableList<WorkloadId> ids, Set<WorkloadId> asked) {
        return ids.stream()
                .filter(id -> !asked.contains(id))
                .map(WorkloadId::toString)
                .collect(Collectors.joining(", "));
    }

    @Override
    public void close() {
        display.close();
    }

    private static ProgressDisplay display(Workspace workspace, Set<WorkloadId> all) throws InterruptedException {
        Environment environment = workspace.environment();
        int width = all.stream().mapToInt(id -> id.toString().length()).max().orElse(0);
        boolean live = environment.errIsDrawable();
        return live
                ? new LiveDisplay(workspace.console(), TerminalSize.of(environment), width)
                : new ProgressDisplay.Plain(
                        workspace.console(),
                        workspace.word(),
                        width,
                        ProgressDisplay.Plain.SILENCE,
                        environment.ticker());
    }
}
