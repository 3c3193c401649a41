package io.homeostat.reconcile.plan;

import com.google.common.base.Splitter;
import com.google.common.base.Suppliers;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSetMultimap;
import com.google.common.collect.Sets;
import com.google.common.graph.Traverser;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Dependencies;
import io.homeostat.desired.model.DependencyCycles;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.Observation;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.plan.Relations.Need;
import io.homeostat.reconcile.plan.Relations.Parent;
import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Who has to do with whom, as long as the same is wanted; how they fare is asked anew for each decision. Pure. */
public final class DependencyGraph {
    /** Reasons not to be at the desired state that time alone does not remove. */
    private static final ImmutableSet<Reason> HELD = Sets.immutableEnumSet(
            Reason.LIMITS_NOT_ENFORCEABLE,
            Reason.FILE_UNUSABLE,
            Reason.CONFIG_REFUSED,
            Reason.SIGNATURE_MISSING,
            Reason.FACTS_UNKNOWN,
            Reason.CANNOT_OBSERVE);

    /** Others, as long as what has failed counts: who asks for another try has them forgotten, before anybody looks again. */
    private static final ImmutableSet<Reason> FAILED =
            Sets.immutableEnumSet(Reason.GIVEN_UP, Reason.STEP_FAILED, Reason.RUN_FAILED);

    private static final ImmutableSet<Reason> UNBOOTED = Sets.immutableEnumSet(Reason.GUEST_LOST);

    private final DesiredState desired;
    private final ImmutableSetMultimap<WorkloadId, WorkloadId> needs;
    private final ImmutableSetMultimap<WorkloadId, WorkloadId> dependants;
    private final ImmutableSetMultimap<Map.Entry<String, String>, WorkloadId> groups;
    private final Supplier<DependencyCycles> cycles;
    private final Supplier<Former> former;

    /** Dependants that nobody wants any more, by what they depended on. */
    private record Former(ImmutableSetMultimap<WorkloadId, WorkloadId> dependants, DependencyCycles cycles) {}

    /** @param alive all that nobody wants and that have a process, or may have, and maybe others; asked once, when it first matters who of them was there */
    public DependencyGraph(DesiredState desired, Supplier<ImmutableMap<WorkloadId, Remembered>> alive) {
        this.desired = desired;
        this.former = Suppliers.memoize(() -> former(alive.get()));
        ImmutableSetMultimap.Builder<WorkloadId, WorkloadId> forward = ImmutableSetMultimap.builder();
        ImmutableSet.Builder<String> counted = ImmutableSet.builder();
        desired.declarations().forEach((id, declaration) -> {
            forward.putAll(id, needs(declaration.workload()));
            MaxDisruption disruption = declaration.workload().lifecycle().maxDisruption();
            if (disruption != null) {
                counted.add(disruption.label());
            }
        });
        this.needs = forward.build();
        this.dependants = needs.inverse();
        this.cycles = Suppliers.memoize(() -> new DependencyCycles(needs));
        ImmutableSet<String> labels = counted.build();
        ImmutableSetMultimap.Builder<Map.Entry<String, String>, WorkloadId> members = ImmutableSetMultimap.builder();
        desired.declarations()
                .forEach((id, declaration) -> declaration.workload().labels().entrySet().stream()
                        .filter(label -> labels.contains(label.getKey()))
                        .forEach(label -> members.put(Map.entry(label.getKey(), label.getValue()), id)));
        this.groups = members.build();
    }

    /** Whether this is about just that desired state: comparing all of it would cost more than it saves. */
    @SuppressWarnings("ReferenceEquality")
    public boolean isOf(DesiredState other) {
        return desired == other;
    }

    /** What is wanted. */
    public DesiredState desired() {
        return desired;
    }

    /**
     * How those fare that matter to a workload.
     *
     * @param own what is remembered of the workload itself
     * @param neighbours what is remembered of others
     * @param ending those that are to be stopped, and wait until what is part of them has ended
     */
    public Relations of(
            WorkloadId id, HostFacts host, WorkloadHistory own, Neighbours neighbours, Predicate<WorkloadId> ending) {
        Function<WorkloadId, Remembered> look = neighbours::remembered;
        Prospects now = neighbours.now(this, host);
        Declaration declared = desired.declarations().get(id);
        if (declared == null) {
            ImmutableList<WorkloadId> leaving = leaving(id, neighbours);
            return new Relations(
                    ImmutableList.of(),
                    ImmutableList.of(),
                    leaving,
                    ImmutableList.of(),
                    null,
                    null,
                    partsExcept(leaving, id, neighbours),
                    ImmutableSet.of());
        }
        ImmutableList<Need> fare = needs.get(id).stream().map(now::need).collect(ImmutableList.toImmutableList());
        LastKnownGood lastKnownGood = own.lastKnownGood();
        ImmutableList<WorkloadId> stoppedBefore = stoppedBefore(id, neighbours);
        return new Relations(
                fare,
                fare.isEmpty() ? ImmutableList.of() : cycles.get().through(id),
                stoppedBefore,
                down(id, host, neighbours),
                parent(declared.workload(), now, ending),
                lastKnownGood == null ? null : parent(lastKnownGood.workload(), now, ending),
                partsExcept(stoppedBefore, id, neighbours),
                Stream.concat(
                                Traits.of(declared.workload()).hosts().stream(),
                                lastKnownGood == null
                                        ? Stream.empty()
                                        : Traits.of(lastKnownGood.workload()).hosts().stream())
                        .filter(other -> isDaemon(other) && isThere(look.apply(other)))
                        .collect(ImmutableSet.toImmutableSet()));
    }

    /** What has to run well before a workload: what it says, and what it is part of. */
    public static ImmutableSet<WorkloadId> needs(Workload workload) {
        return ImmutableSet.<WorkloadId>builder()
                .addAll(Dependencies.of(workload))
                .addAll(Traits.of(workload).parent().stream().iterator())
                .build();
    }

    /** These, and all that has to run well before them. */
    public static ImmutableSet<WorkloadId> withNeeds(Iterable<WorkloadId> ids, DesiredState declared) {
        return ImmutableSet.copyOf(Traverser.<WorkloadId>forGraph(
                        id -> declared.get(id).map(one -> needs(one.workload())).orElse(ImmutableSet.of()))
                .breadthFirst(ids));
    }

    private static @Nullable Parent parent(Workload workload, Prospects now, Predicate<WorkloadId> ending) {
        Traits traits = Traits.of(workload);
        return traits.parent()
                .map(id -> new Parent(
                        new Need(id, now.state(id)),
                        startedInstance(now.remembered(id)),
                        traits.recreatedWithParent(),
                        ending.test(id)))
                .orElse(null);
    }

    /**
     * What would be killed with its instance: whoever stops that has them stopped before, as each of them wants it.
     *
     * @param others those that are stopped before for another reason
     */
    private ImmutableList<WorkloadId> partsExcept(
            ImmutableList<WorkloadId> others, WorkloadId id, Neighbours neighbours) {
        ImmutableSet<WorkloadId> before = ImmutableSet.copyOf(others);
        return parts(id, neighbours).stream()
                .filter(part -> !before.contains(part))
                .collect(ImmutableList.toImmutableList());
    }

    private ImmutableList<WorkloadId> parts(WorkloadId id, Neighbours neighbours) {
        Function<WorkloadId, Remembered> look = neighbours::remembered;
        ImmutableList<WorkloadId> children = Stream.concat(
                        dependants.get(id).stream()
                                .filter(child -> desired.get(child)
                                        .filter(declared -> isPart(declared.workload(), id))
                                        .isPresent()),
                        leaving(id, neighbours).stream().filter(child -> mayBePart(look.apply(child), id)))
                .filter(child -> mayBeStopped(look.apply(child)))
                .sorted()
                .collect(ImmutableList.toImmutableList());
        // Without one it has just been found, as after the loss of the database, and what is known to run in it does.
        String instance = children.isEmpty() ? null : startedInstance(look.apply(id));
        return children.stream()
                .filter(child -> look.apply(child).instances().stream()
                        .map(LaunchInputs::parent)
                        .anyMatch(parent -> parent != null && (instance == null || instance.equals(parent))))
                .collect(ImmutableList.toImmutableList());
    }

    /**
     * What runs in others and is stopped before these are, whichever of them that will be.
     *
     * @param instances all that are remembered
     */
    public static ImmutableSet<WorkloadId> partsOf(
            Set<WorkloadId> parents, ImmutableList<Instance> instances, DesiredState declared) {
        ImmutableSet<String> launches = instances.stream()
                .filter(instance -> parents.contains(instance.workload()))
                .map(Instance::launchId)
                .collect(ImmutableSet.toImmutableSet());
        return instances.stream()
                .filter(instance -> !instance.isOver() && launches.contains(LaunchInputs.parent(instance)))
                .map(Instance::workload)
                .filter(id -> declared.get(id)
                        .filter(one -> Traits.of(one.workload()).recreatedWithParent())
                        .isPresent())
                .collect(ImmutableSet.toImmutableSet());
    }

    private static boolean isPart(Workload child, WorkloadId parent) {
        Traits traits = Traits.of(child);
        return traits.recreatedWithParent()
                && traits.parent().filter(parent::equals).isPresent();
    }

    /** Of one that nobody wants any more; one that was never well is on its way out all the same. */
    private static boolean mayBePart(Remembered child, WorkloadId parent) {
        LastKnownGood lastKnownGood = child.history().lastKnownGood();
        return lastKnownGood == null || isPart(lastKnownGood.workload(), parent);
    }

    /** Nobody waits for ever for the end of what is left alone, or can neither be seen nor stopped. */
    private static boolean mayBeStopped(Remembered part) {
        return (part.pause() == null || part.pause().stopped())
                && !isHeld(part, ImmutableSet.of(Reason.CANNOT_OBSERVE))
                && part.history().attempts().upkeep().count() == 0;
    }

    private static @Nullable String startedInstance(Remembered parent) {
        return parent.instances().stream()
                .filter(Instance::isStarted)
                .max(Comparator.comparing(Instance::launchedAt))
                .map(Instance::launchId)
                .orElse(null);
    }

    /** Those for which it may make a difference how a workload fares. */
    public ImmutableSet<WorkloadId> concernedBy(WorkloadId id) {
        ImmutableSet.Builder<WorkloadId> concerned = ImmutableSet.builder();
        concerned.addAll(dependants.get(id));
        desired.get(id)
                .ifPresent(declaration -> declaration
                        .workload()
                        .labels()
                        .forEach((label, value) -> groups.get(Map.entry(label, value)).stream()
                                .filter(other -> isCountedBy(other, label))
                                .forEach(concerned::add)));
        return concerned.build();
    }

    private boolean isCountedBy(WorkloadId id, String label) {
        return desired.get(id)
                .map(declaration -> declaration.workload().lifecycle().maxDisruption())
                .filter(disruption -> disruption.label().equals(label))
                .isPresent();
    }

    /** Whether a workload runs as well as its own process, since this boot, could be seen to. */
    public boolean isWell(WorkloadId id, HostFacts host, Remembered neighbour) {
        Declaration declared = desired.declarations().get(id);
        if (declared == null || !wasSeen(declared, neighbour.history())) {
            return false;
        }
        return servesOthers(declared, host, neighbour);
    }

    /** The same, as far as what is remembered is of its declaration. */
    private static boolean servesOthers(Declaration declared, HostFacts host, Remembered neighbour) {
        return (is(Condition.Type.HEALTHY, neighbour) || reportsCode(neighbour))
                && (declared.workload().isOneShot()
                        ? ranHere(declared, host, neighbour)
                        : runs(declared, host, neighbour) || rests(declared, host, neighbour));
    }

    /** What has been launched since its last look may be another try at what was undone. */
    private static boolean rests(Declaration declared, HostFacts host, Remembered neighbour) {
        return neighbour.instances().stream().allMatch(Instance::isOver)
                && CleanEnd.resting(declared, neighbour.history(), host).isPresent();
    }

    /** A code is a plugin's own business: who depends on it does not wait for another one. */
    private static boolean reportsCode(Remembered neighbour) {
        return neighbour.history().conditions().stream()
                .anyMatch(condition ->
                        condition.type() == Condition.Type.HEALTHY && condition.reason() == Reason.CODE_REPORTED);
    }

    /**
     * What is remembered from before a boot says nothing of an instance now, nor does the probe of what is declared of one that runs
     * something else, unless that is the last good revision with its own probe.
     */
    private static boolean runs(Declaration declared, HostFacts host, Remembered neighbour) {
        ImmutableList<LastKnownGood> standIns = neighbour.history().standIns();
        return neighbour.instances().stream()
                .filter(instance -> instance.phase() == Phase.STARTED)
                .filter(instance -> LaunchInputs.matches(instance, declared.workload())
                        || standIns.stream().anyMatch(good -> LaunchInputs.matches(instance, good.workload())))
                .anyMatch(instance -> isOfThisBoot(instance.identity(), host));
    }

    private static boolean isOfThisBoot(@Nullable Identity identity, HostFacts host) {
        return identity != null
                && (!(host.bootId() instanceof Observation.Seen<String>(String now)) || identity.mayBeOf(now));
    }

    private static boolean isThisBoot(String bootId, HostFacts host) {
        return !(host.bootId() instanceof Observation.Seen<String>(String now)) || now.equals(bootId);
    }

    /** What is to run at each boot has to have run since this one. */
    private static boolean ranHere(Declaration declared, HostFacts host, Remembered neighbour) {
        OneShotRun run = neighbour.history().run().oneShot();
        Execution execution = declared.workload().lifecycle().execution();
        boolean eachBoot = execution.triggers() != null && execution.triggers().startup();
        // Its health may be that of the run before, until somebody looks.
        return run != null
                && run.result() == OneShotRun.Result.COMPLETED
                && (!eachBoot || isThisBoot(run.bootId(), host));
    }

    /** Whether a workload, which is not well, does not become so by itself as far as is known, whatever becomes of others. */
    boolean isStuck(WorkloadId id, Remembered neighbour) {
        Declaration declared = desired.declarations().get(id);
        return declared == null || isStuck(declared, neighbour) || cycles.get().contains(id);
    }

    /** Whether what a workload depends on has something to do with how it fares itself: of what is in a cycle, the cycle alone has. */
    boolean isInCycle(WorkloadId id) {
        return cycles.get().contains(id);
    }

    private static boolean isStuck(Declaration declared, Remembered neighbour) {
        WorkloadHistory history = neighbour.history();
        if (neighbour.pause() != null || is(Condition.Type.DISABLED, neighbour)) {
            return true;
        }
        if (!wasSeen(declared, history)) {
            return false;
        }
        Failures starts = history.attempts().start();
        return history.attempts().install().count() > 0
                || starts.fatal()
                || starts.count() >= declared.workload().lifecycle().start().attempts()
                || (history.run().crashes().count() > 0 && isHeld(neighbour, ImmutableSet.of(Reason.CRASH_LOOP)))
                || (history.isTriedSince() && isHeld(neighbour, FAILED))
                || (isRunByCalendarOnly(declared) && isHeld(neighbour, ImmutableSet.of(Reason.RUN_FAILED)))
                || isHeld(neighbour, HELD);
    }

    /** Whoever asks for another try has to wait for its next time. */
    private static boolean isRunByCalendarOnly(Declaration declared) {
        Triggers triggers = declared.workload().lifecycle().execution().triggers();
        return triggers != null && !triggers.startup() && !triggers.firstBoot() && triggers.every() == null;
    }

    /** Whether what is remembered is of that declaration. Generations count for each source, so that two declarations may have the same. */
    private static boolean wasSeen(Declaration declared, WorkloadHistory history) {
        return history.observedGeneration() == declared.generation()
                && history.attempts().hash().equals(declared.hash());
    }

    private static boolean isHeld(Remembered neighbour, ImmutableSet<Reason> reasons) {
        return neighbour.history().conditions().stream()
                .anyMatch(condition -> condition.type() == Condition.Type.CONVERGED
                        && condition.status() != Condition.Status.TRUE
                        && reasons.contains(condition.reason()));
    }

    private static boolean is(Condition.Type type, Remembered neighbour) {
        return neighbour.history().conditions().stream()
                .anyMatch(condition -> condition.type() == type && condition.status() == Condition.Status.TRUE);
    }

    /**
     * Others that count against a workload's {@code maxDisruption} now; the parameters are those of {@link #of}. Not those that wait for
     * just this one, or each would wait for the other: after the loss of the database what runs is not known to be good, and a guest whose
     * agent was started again takes a new boot.
     */
    public ImmutableList<Need> down(WorkloadId id, HostFacts host, Neighbours neighbours) {
        Declaration declared = desired.declarations().get(id);
        MaxDisruption disruption =
                declared == null ? null : declared.workload().lifecycle().maxDisruption();
        if (declared == null || disruption == null) {
            return ImmutableList.of();
        }
        String value = declared.workload().labels().get(disruption.label());
        Prospects prospects = neighbours.asStored(this, host);
        ImmutableList<Need> down = prospects.down(Map.entry(disruption.label(), value == null ? "" : value));
        if (down.isEmpty()) {
            return ImmutableList.of();
        }
        ImmutableSet<WorkloadId> waiting = waitingFor(id, declared, host, neighbours);
        return down.stream()
                .filter(other -> !other.id().equals(id) && !waiting.contains(other.id()))
                .collect(ImmutableList.toImmutableList());
    }

    /**
     * Those with a label that are down or being changed, in the order of their names, as what is declared is.
     *
     * @param changing those that were stopped for a change and are not well again
     */
    ImmutableList<Need> down(Map.Entry<String, String> label, Prospects prospects, Predicate<WorkloadId> changing) {
        return groups.get(label).stream()
                .filter(this::isDaemon)
                .filter(other -> !is(Condition.Type.DISABLED, prospects.remembered(other))
                        && (changing.test(other) || !prospects.isWell(other)))
                .map(prospects::comingOrStuck)
                .collect(ImmutableList.toImmutableList());
    }

    /** Those that only this workload can make well, with all that wait for them. */
    private ImmutableSet<WorkloadId> waitingFor(
            WorkloadId id, Declaration declared, HostFacts host, Neighbours neighbours) {
        Stream<WorkloadId> itself =
                servesOthers(declared, host, neighbours.remembered(id)) ? Stream.empty() : Stream.of(id);
        Stream<WorkloadId> guests =
                dependants.get(id).stream().filter(guest -> awaitsBoot(guest, id, neighbours::remembered));
        return ImmutableSet.copyOf(Traverser.forGraph(dependants::get)
                .breadthFirst(Stream.concat(itself, guests).toList()));
    }

    /**
     * Whether it is in a machine that only a new boot heals, and that runs in that host. One that is gone is not healed by it, nor is one
     * that was launched, as an earlier revision may have been, without that host.
     */
    private boolean awaitsBoot(WorkloadId guest, WorkloadId host, Function<WorkloadId, Remembered> look) {
        return desired.get(guest)
                .filter(one -> Traits.of(one.workload()).hosts().contains(host))
                .map(_ -> look.apply(guest))
                .filter(one -> isHeld(one, UNBOOTED))
                .filter(one -> one.instances().stream()
                        .anyMatch(instance ->
                                instance.isStarted() && neededAtLaunch(instance).contains(host)))
                .isPresent();
    }

    private static boolean isThere(Remembered workload) {
        return workload.instances().stream().anyMatch(Instance::isStarted);
    }

    private boolean isDaemon(WorkloadId id) {
        return desired.get(id)
                .filter(declaration -> !declaration.workload().isOneShot())
                .isPresent();
    }

    /**
     * Who has to be stopped first. Where each waits for the other nobody waits, and nobody for what is left alone, or could not be seen
     * for long.
     */
    private ImmutableList<WorkloadId> leaving(WorkloadId id, Neighbours neighbours) {
        if (former.get().cycles().contains(id)) {
            return ImmutableList.of();
        }
        return former.get().dependants().get(id).stream()
                .filter(other -> {
                    Remembered neighbour = neighbours.remembered(other);
                    return !neighbours.isUnseen(other)
                            && !neighbour.instances().isEmpty()
                            && neighbour.pause() == null
                            && neighbour.history().isOfSomethingDeclared();
                })
                .sorted()
                .collect(ImmutableList.toImmutableList());
    }

    /** Of what is stopped by request together with it: who depends on it, and still runs. */
    private ImmutableList<WorkloadId> stoppedBefore(WorkloadId id, Neighbours neighbours) {
        ImmutableSet<WorkloadId> depending = dependants.get(id);
        if (depending.isEmpty()
                || !isStopped(neighbours.remembered(id))
                || cycles.get().contains(id)) {
            return ImmutableList.of();
        }
        return depending.stream()
                .filter(other -> isStopped(neighbours.remembered(other))
                        && !neighbours.isUnseen(other)
                        && !neighbours.remembered(other).instances().stream().allMatch(Instance::isOver))
                .sorted()
                .collect(ImmutableList.toImmutableList());
    }

    static boolean isStopped(Remembered remembered) {
        Pause pause = remembered.pause();
        return pause != null && pause.stopped();
    }

    /** What has to run well before a workload, as it is declared. */
    public ImmutableSet<WorkloadId> needs(WorkloadId id) {
        return needs.get(id);
    }

    /** What is to be looked at when one that is stopped by request has ended: what it depends on may have waited for that. */
    public ImmutableSet<WorkloadId> stoppedAfter(WorkloadId id, Remembered remembered) {
        return isStopped(remembered) ? needs.get(id) : ImmutableSet.of();
    }

    private Former former(Map<WorkloadId, Remembered> alive) {
        ImmutableSetMultimap.Builder<WorkloadId, WorkloadId> reverse = ImmutableSetMultimap.builder();
        alive.forEach((id, neighbour) -> {
            if (desired.get(id).isEmpty()) {
                formerNeeds(neighbour).forEach(needed -> reverse.put(needed, id));
            }
        });
        ImmutableSetMultimap<WorkloadId, WorkloadId> all = reverse.build();
        return new Former(all, new DependencyCycles(all));
    }

    /**
     * What a workload depended on that nobody wants any more: as its last good revision says, or as its instance was launched when that
     * is another one, which was never well.
     */
    public static ImmutableSet<WorkloadId> formerNeeds(Remembered remembered) {
        LastKnownGood lastKnownGood = remembered.history().lastKnownGood();
        ImmutableSet<WorkloadId> unproven = remembered.instances().stream()
                .filter(instance -> lastKnownGood == null || !LaunchInputs.matches(instance, lastKnownGood.workload()))
                .flatMap(instance -> neededAtLaunch(instance).stream())
                .collect(ImmutableSet.toImmutableSet());
        return lastKnownGood == null || !unproven.isEmpty() ? unproven : needs(lastKnownGood.workload());
    }

    /** What an instance depended on when it was launched, its parent included. */
    static ImmutableList<WorkloadId> neededAtLaunch(Instance instance) {
        return Splitter.on(',')
                .omitEmptyStrings()
                .splitToStream(instance.inputs().getOrDefault(LaunchInputs.DEPENDENCIES, ""))
                .flatMap(text -> WorkloadId.parse(text).stream())
                .collect(ImmutableList.toImmutableList());
    }
}
