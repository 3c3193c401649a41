package io.homeostat.reconcile.plan;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState.Policy;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.install.Installation;
import io.homeostat.observe.limits.Controller;
import io.homeostat.observe.limits.ObservedLimits;
import io.homeostat.observe.limits.ObservedLimits.LimitObstacles;
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

/** A situation in few words, and what is planned from it. */
public final class Example {
    public static final Instant NOW = Instant.parse("2026-11-20T12:00:00Z");

    private final WorkloadId id;
    private final Declarations declarations = new Declarations();
    private final List<Installation> installations = new ArrayList<>();
    private final List<ObservedInstance> instances = new ArrayList<>();
    private final ImmutableSet.Builder<String> archives = ImmutableSet.builder();
    private @Nullable Declaration declared;
    private @Nullable String link;
    private @Nullable ImmutableSortedMap<String, String> inputs;
    private @Nullable String blind;
    private Observation<ObservedLimits> limits = Observation.seen(ObservedLimits.NONE);
    private boolean residue;
    private @Nullable Pause pause;
    private Policy policy = Policy.NONE;
    private Relations relations = Relations.NONE;
    private WorkloadHistory history = WorkloadHistory.NONE;
    private HostFacts host = HostFacts.of("boot", "instance");

    private Example(WorkloadId id) {
        this.id = id;
    }

    public static Example plugin() {
        return new Example(WorkloadId.plugin("p"));
    }

    public static Example process() {
        return new Example(WorkloadId.process("p"));
    }

    public Example wants(String revision) {
        return wants(revision, "c");
    }

    public Example wants(String revision, String config, String... arguments) {
        return wants(declarations.declare(id, revision, ImmutableList.copyOf(arguments), config));
    }

    public Example wants(String revision, Limits limits) {
        return wants(declarations.declare(id, revision, limits));
    }

    public Example wants(String revision, Execution execution) {
        return wants(declarations.declare(id, revision, execution));
    }

    public Example wants(Declaration next) {
        declared = next;
        history = history.withAttempts(next.generation(), Attempts.of(next.hash()));
        return this;
    }

    public Example wants(Wish wish) {
        declared = declarations.declare(SourceName.APPLIED, id, wish);
        history = history.withAttempts(declared.generation(), Attempts.of(declared.hash()));
        return this;
    }

    /** On a machine of which this is known. */
    public Example on(HostFacts machine) {
        host = machine;
        return this;
    }

    /** What is declared was seen well, just so. */
    public Example provenAsDeclared() {
        Declaration now = Objects.requireNonNull(declared);
        history = history.withLastKnownGood(new LastKnownGood(
                now.workload(), now.hash(), "p_" + now.workload().revision()));
        return this;
    }

    /** What limits its process, on a machine that can enforce limits. */
    public Example limited(Limits inForce, Long... outside) {
        limits = Observation.seen(new ObservedLimits(inForce, ImmutableSortedSet.copyOf(outside), LimitObstacles.NONE));
        return this;
    }

    public Example limited(Observation<ObservedLimits> seen) {
        limits = seen;
        return this;
    }

    public Example among(Relations next) {
        relations = next;
        return this;
    }

    public Example under(Policy next) {
        policy = next;
        return this;
    }

    /** On a machine that can't enforce limits. */
    public Example unlimitable() {
        limits = Observation.seen(new ObservedLimits(
                Limits.NONE,
                ImmutableSortedSet.of(),
                new LimitObstacles(ImmutableMap.of(Controller.MEMORY, "no right", Controller.CPU, "no right"))));
        return this;
    }

    public Example cached(String revision) {
        archives.add(revision.toLowerCase(Locale.ROOT));
        return this;
    }

    public Example installed(String revision) {
        String key = revision.toLowerCase(Locale.ROOT);
        installations.add(new Installation("p_" + revision, revision, key, key));
        residue = true;
        return this;
    }

    public Example damaged(String revision) {
        String key = revision.toLowerCase(Locale.ROOT);
        installations.add(new Installation("p_" + revision, revision, key, key, "bin/run is odd"));
        residue = true;
        return this;
    }

    /** Once more, beside the first one. */
    public Example installedBeside(String revision) {
        return installedBeside(revision, revision);
    }

    /** Of another archive than there may be of that revision. */
    public Example installedBeside(String revision, String content) {
        String key = content.toLowerCase(Locale.ROOT);
        installations.add(new Installation(Layout.installName(id, revision, key), revision, key, key));
        return this;
    }

    public Example active(String revision) {
        link = "p_" + revision;
        return this;
    }

    /** A process of the revision with config "c" and no arguments, started and well. */
    public Example runs(String revision) {
        return runs(revision, Phase.STARTED, Duration.ofHours(1), Health.healthy(NOW));
    }

    /** As {@link #runs(String)}, launched in that instance of its parent. */
    Example runsIn(String parent, String revision) {
        Step.Launch launch = new Step.Launch(
                Declarations.workload(id, revision, ImmutableList.of(), "c"), "hash", "p_" + revision, parent);
        inputs = launch.inputs(ImmutableMap.of());
        return runs(revision);
    }

    public Example runs(String revision, Phase start, Duration age, @Nullable Health health) {
        Instance instance = instance(revision, start);
        instances.add(new ObservedInstance(
                instance,
                true,
                new Liveness.Running(new ProcessIdentity(1, 1, "boot"), age, start != Phase.CREATED, health)));
        return this;
    }

    /** As it runs, with a file deleted under it. */
    public Example lost(String revision, ObservedInstance.Loss loss) {
        return is(
                revision,
                new Liveness.Running(
                        new ProcessIdentity(1, 1, "boot"),
                        Duration.ofHours(1),
                        loss != ObservedInstance.Loss.SOCKET,
                        null,
                        ImmutableSet.of(loss)));
    }

    public Example listens(String revision) {
        instances.add(new ObservedInstance(
                instance(revision, Phase.CREATED),
                true,
                new Liveness.Running(new ProcessIdentity(1, 1, "boot"), Duration.ofSeconds(1), true, null)));
        return this;
    }

    public Example is(String revision, Liveness liveness) {
        instances.add(new ObservedInstance(instance(revision, Phase.STARTED), true, liveness));
        return this;
    }

    /** One that only the machine knows, by its processes. */
    public Example unknown(String launchId) {
        return unknown(
                launchId, new Liveness.Running(new ProcessIdentity(7, 1, "boot"), Duration.ofMinutes(1), true, null));
    }

    public Example unknown(String launchId, Liveness liveness) {
        Instance instance = Instance.unknown(launchId, id, NOW.minusSeconds(60), new ProcessIdentity(7, 1, "boot"));
        instances.add(new ObservedInstance(instance, false, liveness));
        return this;
    }

    public Example ended(String revision, Exit exit) {
        return is(revision, new Liveness.Ended(exit));
    }

    public Example ended(String revision, Phase start, Exit exit) {
        instances.add(new ObservedInstance(instance(revision, start), true, new Liveness.Ended(exit)));
        return this;
    }

    public Example paused(String reason) {
        pause = new Pause(id, reason, NOW.minusSeconds(60));
        return this;
    }

    public Example stopped(String reason) {
        pause = new Pause(id, reason, NOW.minusSeconds(60), true);
        return this;
    }

    /** It was declared here before. */
    public Example wasWanted() {
        history = history.withAttempts(1, Attempts.NONE);
        return this;
    }

    /** The revision was once seen well. */
    public Example knownGood(String revision) {
        Declaration old = new Declarations().declare(id, revision, ImmutableList.of(), "c");
        history = history.withLastKnownGood(new LastKnownGood(old.workload(), old.hash(), "p_" + revision));
        return this;
    }

    /** It was once seen well as it is wished here. */
    public Example knownGood(Wish wish) {
        Declaration old = new Declarations().declare(SourceName.APPLIED, id, wish);
        history = history.withLastKnownGood(new LastKnownGood(old.workload(), old.hash(), "p_" + wish.revision()));
        return this;
    }

    /** Another revision was seen well since. */
    public Example succeeded(String revision) {
        LastKnownGood before = Objects.requireNonNull(history.lastKnownGood());
        knownGood(revision);
        LastKnownGood now = Objects.requireNonNull(history.lastKnownGood());
        history = history.withLastKnownGood(before).succeededBy(now);
        return this;
    }

    public Example undone(int times, Instant at) {
        Declaration now = Objects.requireNonNull(declared);
        history = history.withFailed(
                new FailedRevision(now.hash(), now.workload().revision(), times, at, "never listens"));
        return this;
    }

    public Example attempts(UnaryOperator<Attempts> change) {
        history = history.withAttempts(change.apply(history.attempts()));
        return this;
    }

    public Example history(UnaryOperator<WorkloadHistory> change) {
        history = change.apply(history);
        return this;
    }

    public Example blind(String why) {
        blind = why;
        return this;
    }

    public static Failures failed(int count, Instant last) {
        return new Failures(count, last, "no luck", false);
    }

    private Instance instance(String revision, Phase start) {
        Workload workload = Declarations.workload(id, revision, ImmutableList.of(), "c");
        String config = start == Phase.STARTED && workload.spec() instanceof PluginSpec plugin
                ? Config.hash(plugin.config())
                : "";
        String target = new Declarations()
                .declare(id, revision, ImmutableList.of(), "c")
                .hash();
        return new Instance(
                "launch-" + revision + instances.size(),
                id,
                target,
                revision,
                "p_" + revision,
                inputs == null ? LaunchInputs.of(workload) : inputs,
                NOW.minusSeconds(60),
                new ProcessIdentity(1, 1, "boot"),
                start,
                config);
    }

    public Situation situation() {
        String why = blind;
        ObservedWorkload seen = new ObservedWorkload(
                id,
                Observation.seen(ImmutableList.copyOf(installations)),
                Observation.seen(Optional.ofNullable(link)),
                why == null ? Observation.seen(ImmutableList.copyOf(instances)) : Observation.unseen(why),
                limits,
                Observation.seen(residue));
        return new Situation(
                declared,
                policy,
                seen,
                host,
                relations,
                archives.build(),
                history,
                pause,
                Judgement.checks(declared, history, NOW),
                7,
                NOW);
    }

    public ObservationRecorder.Learned learned() {
        return ObservationRecorder.observed(situation());
    }

    public WorkloadPlan plan() {
        return Planner.plan(learned().situation());
    }

    /** "upgrade REVISION_CHANGED: download unpack stop activate launch start". */
    public String planned() {
        WorkloadPlan plan = plan();
        String steps = plan.steps().stream().map(Step::word).collect(Collectors.joining(" "));
        return plan.action().word() + " " + plan.reason() + (steps.isEmpty() ? "" : ": " + steps);
    }
}
