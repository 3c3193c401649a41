package io.homeostat.reconcile.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.DesiredState;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.Pause;
import io.homeostat.desired.state.history.Attempts;
import io.homeostat.desired.state.history.Attempts.Failures;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.OneShotRun;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.Relations.Need;
import io.homeostat.reconcile.runtime.timer.TimerKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** How workloads stand to each other, by what is remembered of them. */
class DependencyGraphTest {
    private static final HostFacts HOST = HostFacts.of("this-boot", "instance");
    private static final WorkloadId DB = WorkloadId.process("db");
    private static final WorkloadId WEB = WorkloadId.process("web");
    private static final Pause PAUSED = new Pause(DB, "a look by hand", Example.NOW);
    /** Of a chain: so many that a walk from each along all that it waits for, and from each of those again, would take minutes. */
    private static final int LINKS = 2_000;

    private static final WorkloadId OTHER = WorkloadId.process("other");

    private final Map<WorkloadId, Remembered> remembered = new HashMap<>();
    private final List<WorkloadId> asked = new ArrayList<>();
    private final Set<Instance> gone = new HashSet<>();
    private final Set<WorkloadId> unseen = new HashSet<>();

    @Test
    void whatRunsWellSinceThisBootIsWell() {
        declaredAndNeeded();
        remember(DB, healthy(1), "this-boot");

        assertEquals(Need.State.WELL, stateOfDb());
    }

    @Test
    void whatHasEndedSinceItsLookIsNotWellAnyMore() {
        declaredAndNeeded();
        remember(DB, healthy(1), "this-boot");
        gone.addAll(look(DB).instances());

        assertEquals(Need.State.COMING, stateOfDb());
    }

    /** Its launch may be removed during the look, which then can't tell that it is gone. */
    @Test
    void whatIsAnsweredAboutAnInstanceThatIsBeingReplacedSaysNothing() {
        WorkloadHistory starting = healthy(1).withConditions(ImmutableList.of());

        assertEquals(Need.State.COMING, stateOfDbWhenReplaced(starting, false));
        assertEquals(Need.State.COMING, stateOfDbWhenReplaced(healthy(1), true));
        assertEquals(Need.State.WELL, stateOfDbWhenReplaced(healthy(1), false));
    }

    /**
     * @param next what is remembered of the instance that takes the place of the first one while that is asked about
     * @param nextIsGone whether the other one is gone, too
     */
    private Need.State stateOfDbWhenReplaced(WorkloadHistory next, boolean nextIsGone) {
        declaredAndNeeded();
        remember(DB, healthy(1), "this-boot");
        Instance former = look(DB).instances().getFirst();
        Predicate<Instance> isGone = instance -> {
            if (!instance.equals(former)) {
                return nextIsGone;
            }
            remember(DB, next, new ProcessIdentity(4712, 2, "this-boot"), LaunchInputs.of(process("db", "")));
            return false;
        };
        return dependencies(process("db", ""), process("web", "dependsOn: [process/db]"))
                .of(
                        WEB,
                        HOST,
                        WorkloadHistory.NONE,
                        new Neighbours(this::look, isGone, _ -> false, _ -> false),
                        _ -> false)
                .needs()
                .getFirst()
                .state();
    }

    @Test
    void whatIsRememberedFromBeforeTheBootSaysNothing() {
        declaredAndNeeded();
        remember(DB, healthy(1), "last-boot");

        assertEquals(Need.State.COMING, stateOfDb());
    }

    @Test
    void whateverHasEndedWithTheBootOfTheHostIsNotWell() {
        declaredAndNeeded();
        for (Identity identity : List.of(
                new Identity.Task("exec", "1", "", null, "last-boot"),
                new Identity.Sandbox("vsock://3:1024", 1, true, "last-boot"),
                new Identity.Container("vsock://3:1024", "1", true, "last-boot"))) {
            remember(DB, healthy(1), identity, LaunchInputs.of(process("db", "")));

            assertEquals(Need.State.COMING, stateOfDb(), identity::toString);
        }
        remember(DB, healthy(1), new Identity.Task("remote", "1", "", null, null), LaunchInputs.of(process("db", "")));
        assertEquals(Need.State.WELL, stateOfDb(), "it outlives the host");
    }

    @Test
    void whatHasNotBeenLookedAtSinceItWasDeclaredOtherwiseIsNotWellYet() {
        declaredAndNeeded();
        remember(DB, healthy(7), "this-boot");

        assertEquals(Need.State.COMING, stateOfDb());
    }

    @Test
    void whatAnotherSourceDeclaredWithTheSameGenerationIsNotWellYet() {
        declaredAndNeeded();
        remember(DB, healthy(1).withAttempts(Attempts.of("of another source")), "this-boot");

        assertEquals(Need.State.COMING, stateOfDb());
    }

    @Test
    void whatFailsOrIsLeftAloneDoesNotComeByItself() {
        declaredAndNeeded();
        WorkloadHistory failing = WorkloadHistory.NONE.withAttempts(
                1, Attempts.of("hash").withInstall(Failures.NONE.failed(Example.NOW, "gone", false)));
        remembered.put(DB, new Remembered(failing, ImmutableList.of(), null));
        assertEquals(Need.State.STUCK, stateOfDb());

        remembered.put(DB, new Remembered(WorkloadHistory.NONE, ImmutableList.of(), PAUSED));
        assertEquals(Need.State.STUCK, stateOfDb());
    }

    @Test
    void whoWaitsForWhatDoesNotComeDoesNotComeEither() {
        DependencyGraph dependencies = dependencies(
                process("other", "dependsOn: [process/missing]"),
                process("db", "dependsOn: [process/other]"),
                process("web", "dependsOn: [process/db]"));

        assertEquals(
                List.of(new Need(DB, Need.State.STUCK)),
                relations(dependencies, WEB).needs());
    }

    @Test
    void whatIsPausedAndWellHoldsNobodyBack() {
        DependencyGraph dependencies = dependencies(
                process("other", ""),
                process("db", "dependsOn: [process/other]"),
                process("web", "dependsOn: [process/db]"));
        remembered.put(DB, new Remembered(startFailed(3), ImmutableList.of(), null));
        remember(OTHER, healthy(1), "this-boot");
        remembered.put(OTHER, new Remembered(look(OTHER).history(), look(OTHER).instances(), PAUSED));
        assertEquals(
                List.of(new Need(DB, Need.State.STUCK)),
                relations(dependencies, WEB).needs());

        remembered.put(OTHER, new Remembered(WorkloadHistory.NONE, ImmutableList.of(), PAUSED));
        assertEquals(
                List.of(new Need(DB, Need.State.STUCK, "process/other is paused")),
                relations(dependencies, WEB).needs());
    }

    @Test
    void ofALongChainEachIsReadAndJudgedOnceForAllThatWaitForIt() {
        DependencyGraph dependencies = chain("");
        assertEquals(
                ImmutableSet.of(Need.State.COMING), states(dependencies, neighbours()), "nothing was launched yet");
        assertEquals(LINKS - 1, asked.size(), "nobody depends on the last one");

        WorkloadId first = link(0);
        remembered.put(first, new Remembered(WorkloadHistory.NONE, ImmutableList.of(), PAUSED));
        Neighbours held = neighbours();
        assertEquals(ImmutableSet.of(Need.State.STUCK), states(dependencies, held));
        assertEquals(
                List.of(new Need(link(LINKS - 2), Need.State.STUCK, first + " is paused")),
                relations(dependencies, link(LINKS - 1), held).needs());
    }

    @Test
    void aLongCycleIsFoundOnceForAllThatAreInIt() {
        DependencyGraph dependencies = chain("dependsOn: [" + link(LINKS - 1) + "]");
        Neighbours neighbours = neighbours();

        assertEquals(ImmutableSet.of(Need.State.STUCK), states(dependencies, neighbours));
        assertEquals(LINKS, asked.size());
        for (WorkloadId id : dependencies.desired().declarations().keySet()) {
            assertEquals(id, relations(dependencies, id, neighbours).cycle().getFirst());
        }
    }

    private static ImmutableSet<Need.State> states(DependencyGraph dependencies, Neighbours neighbours) {
        return dependencies.desired().declarations().keySet().stream()
                .flatMap(id -> relations(dependencies, id, neighbours).needs().stream())
                .map(Need::state)
                .collect(ImmutableSet.toImmutableSet());
    }

    private static Relations relations(DependencyGraph dependencies, WorkloadId id, Neighbours neighbours) {
        return dependencies.of(id, HOST, WorkloadHistory.NONE, neighbours, other -> false);
    }

    private static WorkloadId link(int number) {
        return WorkloadId.process("w" + number);
    }

    /** Workloads of which each depends on the one before. */
    private DependencyGraph chain(String first) {
        String others =
                IntStream.range(1, LINKS).mapToObj(i -> """
                        apiVersion: homeostat.io/v1
                        kind: Process
                        metadata: {name: w%d}
                        spec: {install: local, entryPoint: /bin/a, dependsOn: [process/w%d]}
                        """.formatted(i, i - 1)).collect(Collectors.joining("---\n"));
        return dependencies(Stream.concat(Stream.of(process("w0", first)), Written.workloads(others).stream())
                .toArray(Workload[]::new));
    }

    @Test
    void whatIsTriedAgainAtOnceIsOnItsWay() {
        declaredAndNeeded();
        remembered.put(DB, new Remembered(startFailed(1), ImmutableList.of(), null));
        assertEquals(Need.State.COMING, stateOfDb());

        remembered.put(DB, new Remembered(startFailed(3), ImmutableList.of(), null));
        assertEquals(Need.State.STUCK, stateOfDb());
    }

    @Test
    void aDecisionReadsOnceWhatIsRememberedOfEachNeighbourAndNotAgainOfTheWorkloadItself() {
        WorkloadId clock = new WorkloadId(TimerKind.TIMER, "clock");
        Workload part = timer("tick", "parent: timer/clock");
        Relations relations = dependencies(timer("clock", ""), part)
                .of(part.id(), HOST, formerly(part), neighbours(), other -> false);

        assertEquals(List.of(clock), asked);
        assertEquals(List.of(new Need(clock, Need.State.COMING)), relations.needs());
        assertEquals(new Relations.Parent(new Need(clock, Need.State.COMING), null, true), relations.parent());
        assertEquals(relations.parent(), relations.lastGoodParent());
    }

    private static WorkloadHistory startFailed(int times) {
        return WorkloadHistory.NONE.withAttempts(1, Attempts.of("hash").withStart(Example.failed(times, Example.NOW)));
    }

    @Test
    void whatWasDisabledWhileItWasChangedTakesNobodysPlace() {
        DependencyGraph dependencies = dependencies(
                process("a", "maxDisruption: {label: tier}", "front"), process("b", "stop: {timeout: 1s}", "front"));
        WorkloadId b = WorkloadId.process("b");
        WorkloadHistory disabled = WorkloadHistory.NONE
                .withAttempts(1, Attempts.of("hash"))
                .withConditions(ImmutableList.of(new Condition(
                        Condition.Type.DISABLED, Condition.Status.TRUE, Reason.DISABLED, "", Example.NOW)));
        remembered.put(b, new Remembered(disabled, ImmutableList.of(), null));

        Relations relations = dependencies.of(
                WorkloadId.process("a"), HOST, WorkloadHistory.NONE, neighbours(b::equals), other -> false);

        assertEquals(List.of(), relations.down());
    }

    @Test
    void whatNobodyDeclaresIsSaidToBeSo() {
        DependencyGraph dependencies = dependencies(process("web", "dependsOn: [process/db]"));

        assertEquals(
                List.of(new Need(DB, Need.State.UNDECLARED)),
                relations(dependencies, WEB).needs());
    }

    @Test
    void acrossSourcesACircleIsFound() {
        DependencyGraph dependencies =
                dependencies(process("db", "dependsOn: [process/web]"), process("web", "dependsOn: [process/db]"));

        assertEquals(List.of(WEB, DB), relations(dependencies, WEB).cycle());
    }

    @Test
    void thoseWithTheSameValueOfTheLabelCountWhenTheyAreDown() {
        DependencyGraph dependencies = dependencies(
                process("a", "maxDisruption: {label: tier}", "front"),
                process("b", "stop: {timeout: 1s}", "front"),
                process("c", "stop: {timeout: 1s}", "back"));
        WorkloadId a = WorkloadId.process("a");
        WorkloadId b = WorkloadId.process("b");
        assertEquals(
                List.of(new Need(b, Need.State.COMING)),
                relations(dependencies, a).down());

        remember(b, healthy(1), "this-boot");
        assertEquals(List.of(), relations(dependencies, a).down());
        assertEquals(
                List.of(new Need(b, Need.State.COMING)),
                dependencies
                        .of(a, HOST, WorkloadHistory.NONE, neighbours(b::equals), other -> false)
                        .down(),
                "while it is being changed");
        assertEquals(ImmutableSet.of(a), dependencies.concernedBy(b));
        assertEquals(ImmutableSet.of(), dependencies.concernedBy(WorkloadId.process("c")));
    }

    @Test
    void whoWaitsForAWorkloadDoesNotKeepItFromBeingReplaced() {
        WorkloadId db = WorkloadId.process("db");
        WorkloadId web = WorkloadId.process("web");
        WorkloadId shop = WorkloadId.process("shop");
        DependencyGraph dependencies = dependencies(
                process("db", "maxDisruption: {label: tier}", "front"),
                process("web", "dependsOn: [process/db]", "front"),
                process("shop", "dependsOn: [process/web]", "front"),
                process("other", "stop: {timeout: 1s}", "front"));
        List<Need> others = List.of(new Need(OTHER, Need.State.COMING));
        assertEquals(others, relations(dependencies, db).down(), "what runs is not known to be good");

        remember(db, healthy(1), "this-boot");
        assertEquals(
                List.of(
                        new Need(OTHER, Need.State.COMING),
                        new Need(shop, Need.State.COMING),
                        new Need(web, Need.State.COMING)),
                relations(dependencies, db).down());
    }

    /** Each would wait for the other. */
    @Test
    void aGuestThatOnlyABootHealsDoesNotKeepWhatItRunsInFromBeingRestarted() {
        WorkloadId guest = new WorkloadId(Kind.SANDBOX, "guest");
        WorkloadId app = new WorkloadId(Kind.CONTAINER, "app");
        DependencyGraph dependencies =
                dependencies(process("db", "maxDisruption: {label: tier}", "front"), sandbox(), container());
        remember(DB, healthy(1), "this-boot");
        assertEquals(
                List.of(new Need(app, Need.State.COMING), new Need(guest, Need.State.COMING)),
                relations(dependencies, DB).down());

        remember(guest, isNotConverged(Reason.GUEST_LOST), "this-boot");
        assertEquals(
                2,
                relations(dependencies, DB).down().size(),
                "the revision that runs was launched before it depended on it");

        remember(guest, isNotConverged(Reason.GUEST_LOST), sandbox());
        assertEquals(List.of(), relations(dependencies, DB).down());

        remembered.put(guest, new Remembered(isNotConverged(Reason.GUEST_LOST), ImmutableList.of(), null));
        assertEquals(2, relations(dependencies, DB).down().size(), "one that is gone is healed by no boot");
    }

    @Test
    void whatRunsInOneThatHasJustBeenFoundIsKnownToBeItsPart() {
        WorkloadId guest = new WorkloadId(Kind.SANDBOX, "guest");
        WorkloadId app = new WorkloadId(Kind.CONTAINER, "app");
        DependencyGraph dependencies = dependencies(sandbox(), container());
        remember(
                app,
                healthy(1),
                new ProcessIdentity(4712, 1, "this-boot"),
                LaunchInputs.recorded(container(), "launch-guest"));

        assertEquals(List.of(app), relations(dependencies, guest).parts(), "the database was lost");

        remember(guest, healthy(1), sandbox());
        assertEquals(List.of(app), relations(dependencies, guest).parts());

        remember(
                app,
                healthy(1),
                new ProcessIdentity(4712, 1, "this-boot"),
                LaunchInputs.recorded(container(), "an-earlier-one"));
        assertEquals(List.of(), relations(dependencies, guest).parts());
    }

    @Test
    void aGuestRunsInWhatIsDeclaredToRunOnAndDoes() {
        WorkloadId guest = new WorkloadId(Kind.SANDBOX, "guest");
        DependencyGraph dependencies = dependencies(process("db", ""), sandbox());
        assertEquals(ImmutableSet.of(), relations(dependencies, guest).hosts());

        remember(DB, healthy(1), "this-boot");

        assertEquals(ImmutableSet.of(DB), relations(dependencies, guest).hosts());
        DependencyGraph prepared =
                dependencies(process("db", "execution: {type: oneShot, triggers: {startup: true}}"), sandbox());
        assertEquals(ImmutableSet.of(), relations(prepared, guest).hosts());
    }

    private static WorkloadHistory isNotConverged(Reason why) {
        return WorkloadHistory.NONE
                .withAttempts(1, Attempts.of("hash"))
                .withConditions(ImmutableList.of(
                        new Condition(Condition.Type.CONVERGED, Condition.Status.FALSE, why, "", Example.NOW)));
    }

    private static Workload sandbox() {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Sandbox
                metadata: {name: guest, labels: {tier: front}}
                spec: {endpoint: "vsock://3:1024", dependsOn: [process/db]}
                """);
    }

    private static Workload container() {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Container
                metadata: {name: app, labels: {tier: front}}
                spec: {sandbox: guest, rootfs: {path: /rootfs}, command: [app]}
                """);
    }

    @Test
    void whatIsLeftOfADependantIsStoppedFirst() {
        remember(DB, formerly(process("db", "")), "this-boot");
        remember(WEB, formerly(process("web", "dependsOn: [process/db]")), "this-boot");
        DependencyGraph dependencies = dependencies();
        assertEquals(List.of(WEB), relations(dependencies, DB).leaving());
        assertEquals(List.of(), relations(dependencies, WEB).leaving());

        remembered.put(WEB, new Remembered(look(WEB).history(), ImmutableList.of(), null));
        assertEquals(List.of(), relations(dependencies, DB).leaving(), "stopped");
    }

    @Test
    void whatNobodyRemembersAndSoNobodyStopsIsNotWaitedFor() {
        Workload web = process("web", "dependsOn: [process/db]");
        remember(DB, formerly(process("db", "")), "this-boot");
        remember(WEB, WorkloadHistory.NONE.withLastKnownGood(new LastKnownGood(web, "hash", null)), "this-boot");

        assertEquals(List.of(), relations(dependencies(), DB).leaving());
    }

    @Test
    void whatWasNeverWellIsStoppedBeforeWhatItWasLaunchedAfterToo() {
        remember(DB, formerly(process("db", "")), "this-boot");
        remember(WEB, WorkloadHistory.DELETED, process("web", "dependsOn: [process/other, process/db]"));
        assertEquals(List.of(WEB), relations(dependencies(), DB).leaving(), "a first revision");

        remember(WEB, formerly(process("web", "")), process("web", "dependsOn: [process/db]\n  user: nobody"));
        assertEquals(List.of(WEB), relations(dependencies(), DB).leaving(), "an upgrade");

        remember(WEB, formerly(process("web", "")), process("web", "dependsOn: [process/db]"));
        assertEquals(List.of(), relations(dependencies(), DB).leaving(), "it has become well without it since");
    }

    @Test
    void whoIsLeftAloneOrStandsInACircleIsNotWaitedFor() {
        remember(DB, formerly(process("db", "")), "this-boot");
        remember(WEB, formerly(process("web", "dependsOn: [process/db]")), "this-boot");
        remembered.put(WEB, new Remembered(look(WEB).history(), look(WEB).instances(), PAUSED));
        assertEquals(List.of(), relations(dependencies(), DB).leaving());

        remember(WEB, formerly(process("web", "dependsOn: [process/db]")), "this-boot");
        remember(DB, formerly(process("db", "dependsOn: [process/web]")), "this-boot");
        assertEquals(List.of(), relations(dependencies(), DB).leaving());
        assertEquals(List.of(), relations(dependencies(), WEB).leaving());
    }

    @Test
    void whatCouldNotBeSeenForLongIsNotWaitedFor() {
        remember(DB, formerly(process("db", "")), "this-boot");
        remember(WEB, formerly(process("web", "dependsOn: [process/db]")), "this-boot");
        unseen.add(WEB);
        Relations withdrawn = relations(dependencies(), DB);
        assertEquals(List.of(), withdrawn.leaving());
        assertEquals(List.of(), withdrawn.parts());

        DependencyGraph declared = dependencies(process("db", ""), process("web", "dependsOn: [process/db]"));
        Pause stopped = new Pause(DB, "", Example.NOW, true);
        remembered.replaceAll((id, one) -> new Remembered(one.history(), one.instances(), stopped));
        assertEquals(List.of(), relations(declared, DB).leaving(), "stopped by request");
        unseen.clear();
        assertEquals(List.of(WEB), relations(declared, DB).leaving());
    }

    @Test
    void whoIsStillWantedIsNotAmongThoseThatLeave() {
        remember(DB, formerly(process("db", "")), "this-boot");
        remember(WEB, formerly(process("web", "dependsOn: [process/db]")), "this-boot");

        assertEquals(
                List.of(),
                relations(dependencies(process("web", "dependsOn: [process/db]")), DB)
                        .leaving());
    }

    @Test
    void aOneShotIsWellWhenItHasRunInThisBoot() {
        Workload setup = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: other}
                spec:
                  install: local
                  entryPoint: /bin/true
                  execution: {type: oneShot, triggers: {startup: true}}
                """);
        DependencyGraph dependencies = dependencies(setup);
        assertFalse(dependencies.isWell(OTHER, HOST, ran("last-boot")));
        assertTrue(dependencies.isWell(OTHER, HOST, ran("this-boot")));
        assertFalse(
                dependencies.isWell(OTHER, HOST, ran(begun("this-boot").failed(Example.NOW, null, "broken"))),
                "failed after a run that was well, and not looked at since");
    }

    @Test
    void aOneShotThatFailedAndIsToBeTriedAgainAtOnceIsOnItsWay() {
        DependencyGraph dependencies = dependencies(process("db", ""), process("web", "dependsOn: [process/db]"));
        WorkloadHistory failed = WorkloadHistory.NONE
                .withAttempts(1, Attempts.of("hash"))
                .withConditions(ImmutableList.of(new Condition(
                        Condition.Type.CONVERGED, Condition.Status.FALSE, Reason.RUN_FAILED, "", Example.NOW)));
        failed = failed.withRun(failed.run().withOneShot(begun("this-boot").failed(Example.NOW, null, "broken")));
        remembered.put(DB, new Remembered(failed, ImmutableList.of(), null));
        assertEquals(
                List.of(new Need(DB, Need.State.STUCK)),
                relations(dependencies, WEB).needs());

        remembered.put(DB, new Remembered(failed.retriedNow(), ImmutableList.of(), null));
        assertEquals(
                List.of(new Need(DB, Need.State.COMING)),
                relations(dependencies, WEB).needs());
    }

    private static Remembered ran(String bootId) {
        return ran(begun(bootId).completed(Example.NOW, null));
    }

    private static OneShotRun begun(String bootId) {
        return OneShotRun.begun("work", "launch", bootId, "instance", Example.NOW);
    }

    private static Remembered ran(OneShotRun run) {
        WorkloadHistory history = healthy(1);
        return new Remembered(history.withRun(history.run().withOneShot(run)), ImmutableList.of(), null);
    }

    private void declaredAndNeeded() {
        remembered.put(WEB, new Remembered(WorkloadHistory.NONE, ImmutableList.of(), null));
    }

    private Need.State stateOfDb() {
        DependencyGraph dependencies = dependencies(process("db", ""), process("web", "dependsOn: [process/db]"));
        return relations(dependencies, WEB).needs().getFirst().state();
    }

    private Relations relations(DependencyGraph dependencies, WorkloadId id) {
        return dependencies.of(id, HOST, look(id).history(), neighbours(), other -> false);
    }

    private Neighbours neighbours() {
        return neighbours(other -> false);
    }

    private Neighbours neighbours(Predicate<WorkloadId> changing) {
        return new Neighbours(this::look, gone::contains, changing, unseen::contains);
    }

    private Remembered look(WorkloadId id) {
        asked.add(id);
        return remembered.getOrDefault(id, new Remembered(WorkloadHistory.NONE, ImmutableList.of(), null));
    }

    private void remember(WorkloadId id, WorkloadHistory history, String bootId) {
        remember(id, history, new ProcessIdentity(4711, 1, bootId), LaunchInputs.of(process(id.name(), "")));
    }

    private void remember(WorkloadId id, WorkloadHistory history, Workload launched) {
        remember(id, history, new ProcessIdentity(4711, 1, "this-boot"), LaunchInputs.recorded(launched, null));
    }

    private void remember(
            WorkloadId id, WorkloadHistory history, Identity identity, ImmutableSortedMap<String, String> inputs) {
        Instance instance = new Instance(
                "launch-" + id.name(), id, "hash", "local", null, inputs, Example.NOW, identity, Phase.STARTED, "");
        remembered.put(id, new Remembered(history, ImmutableList.of(instance), null));
    }

    private static WorkloadHistory healthy(long generation) {
        return WorkloadHistory.NONE
                .withAttempts(generation, Attempts.of("hash"))
                .withConditions(ImmutableList.of(
                        new Condition(Condition.Type.HEALTHY, Condition.Status.TRUE, Reason.HEALTHY, "", Example.NOW)));
    }

    private static WorkloadHistory formerly(Workload workload) {
        return WorkloadHistory.DELETED.withLastKnownGood(new LastKnownGood(workload, "hash", null));
    }

    private DependencyGraph dependencies(Workload... workloads) {
        ImmutableSortedMap.Builder<WorkloadId, Declaration> declarations = ImmutableSortedMap.naturalOrder();
        for (Workload workload : workloads) {
            declarations.put(workload.id(), new Declaration(workload, SourceName.FILES, 1, "hash", ImmutableList.of()));
        }
        return new DependencyGraph(
                new DesiredState(declarations.buildOrThrow()), () -> ImmutableMap.copyOf(remembered));
    }

    private static Workload timer(String name, String more) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Timer
                metadata: {name: %s}
                spec:
                  revision: "1"
                  interval: 5s
                  %s
                """.formatted(name, more));
    }

    private static Workload process(String name, String more) {
        return process(name, more, "none");
    }

    private static Workload process(String name, String more, String tier) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s, labels: {tier: %s}}
                spec:
                  install: local
                  entryPoint: /bin/a
                  %s
                """.formatted(name, tier, more));
    }
}
