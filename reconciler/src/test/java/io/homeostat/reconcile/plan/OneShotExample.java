package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.RunRecord.CalendarSince;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.reconcile.record.ObservationRecorder;
import io.homeostat.reconcile.sim.Declarations;
import io.homeostat.reconcile.sim.Wish;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A situation of a one-shot in few words, and what is planned from it. */
public final class OneShotExample {
    private Policy policy = Policy.NONE;
    public static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");

    private final WorkloadId id;
    private final Declarations declarations = new Declarations();
    private final List<ObservedInstance> instances = new ArrayList<>();
    private final List<Installation> installations = new ArrayList<>();
    private @Nullable Declaration declared;
    private WorkloadHistory history = WorkloadHistory.NONE;
    private Observation<String> boot = Observation.seen("boot");
    private String instance = "instance";

    public OneShotExample(WorkloadId id) {
        this.id = id;
    }

    private Declaration declared() {
        return Objects.requireNonNull(declared);
    }

    public OneShotExample wants(String revision, Triggers triggers, String... arguments) {
        declared = declarations.declare(
                SourceName.APPLIED,
                id,
                Wish.of(revision, ImmutableList.copyOf(arguments), "c").when(triggers));
        history = history.withAttempts(declared.generation(), Attempts.of(declared.hash()));
        installations.add(new Installation("p_" + revision, revision, revision.toLowerCase(Locale.ROOT), revision));
        return this;
    }

    /** The same revision is to run for ever now. */
    public OneShotExample wantsForEver(String revision) {
        declared = declarations.declare(SourceName.APPLIED, id, Wish.of(revision, ImmutableList.of(), "c"));
        return this;
    }

    public OneShotExample remembers(WorkloadHistory now) {
        history = now;
        return this;
    }

    /** What is declared so far began then, and was completed. */
    public OneShotExample ran(Instant at) {
        return after(at, run -> run.completed(at, null));
    }

    public OneShotExample failed(Instant at) {
        return after(at, run -> run.failed(at, new Exit(3, null, Exit.Reason.EXITED, at), "no luck"));
    }

    private OneShotExample after(Instant at, UnaryOperator<OneShotRun> end) {
        OneShotRun run = OneShotRun.begun(Work.of(declared().workload()), "launch-then", "boot", "instance", at);
        history = history.withRun(history.run().withOneShot(end.apply(run)))
                .withLastKnownGood(new LastKnownGood(
                        declared().workload(),
                        declared().hash(),
                        "p_" + declared().workload().revision()));
        return this;
    }

    public OneShotExample boot(@Nullable String bootId) {
        boot = bootId == null ? Observation.unseen("no /proc") : Observation.seen(bootId);
        return this;
    }

    /** Somebody wants another run after this launch. */
    OneShotExample asked(String launchId) {
        history = history.withRun(history.run().withAgain(launchId));
        return this;
    }

    /** Somebody has applied it again. */
    OneShotExample retried() {
        history = history.retriedNow();
        return this;
    }

    /** Its calendar has been looked at since then. */
    OneShotExample counts(Instant since) {
        String key = Work.of(declared().workload()) + " "
                + Objects.requireNonNull(
                                declared().workload().lifecycle().execution().triggers())
                        .schedule();
        history = history.withRun(history.run().withCalendar(new CalendarSince(key, since)));
        return this;
    }

    OneShotExample instance(String instanceId) {
        instance = instanceId;
        return this;
    }

    /** Nothing of what is declared last has been unpacked. */
    OneShotExample notInstalled() {
        installations.removeLast();
        return this;
    }

    public OneShotExample startFailed(int times, Instant last) {
        history = history.withAttempts(history.attempts().withStart(Example.failed(times, last)));
        return this;
    }

    public OneShotExample runs(String revision, Duration age) {
        return process(revision, Phase.CREATED, true, new Liveness.Running(identity(), age, true, null));
    }

    OneShotExample launched(String revision, Phase start, boolean listens, @Nullable Integer code) {
        Health health = code == null ? null : new Health(Health.Verdict.HEALTHY, code, ImmutableList.of(), "", NOW);
        return process(revision, start, true, new Liveness.Running(identity(), Duration.ofSeconds(5), listens, health));
    }

    OneShotExample daemon(String revision) {
        return process(
                revision, Phase.STARTED, false, new Liveness.Running(identity(), Duration.ofSeconds(5), true, null));
    }

    public OneShotExample is(String revision, Liveness liveness) {
        return process(revision, Phase.STARTED, true, liveness);
    }

    private static ProcessIdentity identity() {
        return new ProcessIdentity(1, 1, "boot");
    }

    private OneShotExample process(String revision, Phase start, boolean oneShot, Liveness liveness) {
        Instance instance = new Instance(
                "launch-" + instances.size(),
                id,
                declared().hash(),
                revision,
                "p_" + revision,
                oneShot
                        ? LaunchInputs.recorded(declared().workload(), null)
                        : LaunchInputs.of(declared().workload()),
                NOW.minusSeconds(5),
                identity(),
                start,
                "");
        instances.add(new ObservedInstance(instance, true, liveness));
        return this;
    }

    OneShotExample under(Policy now) {
        policy = now;
        return this;
    }

    String message() {
        return Planner.plan(situation()).message();
    }

    public Situation situation() {
        ObservedWorkload seen = new ObservedWorkload(
                id,
                Observation.seen(ImmutableList.copyOf(installations)),
                Observation.seen(Optional.of("p_" + declared().workload().revision())),
                Observation.seen(ImmutableList.copyOf(instances)),
                Observation.seen(ObservedLimits.NONE),
                Observation.seen(true));
        HostFacts host = new HostFacts(boot, instance, ImmutableMap.of());
        return new Situation(
                declared(),
                policy,
                seen,
                host,
                Relations.NONE,
                ImmutableSet.of(),
                history,
                null,
                Judgement.checks(declared(), history, NOW),
                7,
                NOW);
    }

    String planned() {
        WorkloadPlan plan =
                Planner.plan(ObservationRecorder.observed(situation()).situation());
        String steps = plan.steps().stream().map(Step::word).collect(Collectors.joining(" "));
        return plan.action().word() + " " + plan.reason()
                + (steps.isEmpty() ? "" : ": " + steps)
                + (plan.due() == null ? "" : " until " + plan.due());
    }
}
