package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Instant;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A simulation that never fails proves nothing: bugs that are put into the agent are found, named, and made small. */
class PlantedBugTest {
    private static final long SEEDS = 300;
    private static final int A_FEW = 4;

    @Test
    void whoLaunchesWithoutStoppingIsFound() {
        // Now and then: in one workload, and only when it is upgraded.
        Failure failure = find(
                26,
                Agent.withHands(hands -> (step, seen) -> step instanceof Step.Stop stop
                                && stop.cause() == Step.Stop.Cause.REPLACED
                                && stop.workload().name().equals("beta")
                        ? Outcome.done("stopped")
                        : hands.execute(step, seen)));

        assertEquals(Invariant.NOTHING_ALIVE_IS_FORGOTTEN, failure.violation().invariant());
        Failure small = failure.shrunk();
        assertTrue(small.fate().moments().size() <= A_FEW, small::report);
        assertTrue(small.faults().isEmpty(), small::report);
    }

    @Test
    void whoStartsTwiceIsFoundAndNeedsNoFaultForIt() {
        Failure failure = find(1, Agent.withHands(hands -> (step, seen) -> {
            Outcome outcome = hands.execute(step, seen);
            return step instanceof Step.Start && outcome instanceof Outcome.Done ? hands.execute(step, seen) : outcome;
        }));

        assertEquals(Invariant.START_AT_MOST_ONCE, failure.violation().invariant());
        Failure small = failure.shrunk();
        assertTrue(small.fate().moments().size() <= A_FEW, small::report);
    }

    @Test
    void whoTakesNotSeenForNotThereIsFoundWithTheFaultThatItTakes() {
        Failure failure = find(1, new Agent(PlantedBugTest::credulous, UnaryOperator.identity()));

        assertTrue(
                ImmutableSet.of(
                                Invariant.NEVER_TWO,
                                Invariant.NOTHING_ALIVE_IS_FORGOTTEN,
                                Invariant.NOTHING_PULLED_AWAY)
                        .contains(failure.violation().invariant()),
                failure.violation()::getMessage);
        Failure small = failure.shrunk();
        assertTrue(small.fate().moments().size() <= A_FEW, small::report);
        assertEquals(1, small.faults().size(), small::report);
        assertEquals(Fault.PROCESSES_UNSEEN, small.faults().asList().get(0).fault(), small::report);
    }

    @Tag("nightly")
    @Test
    void whoLaunchesAPartOutsideOfItsParentIsFound() {
        Failure failure = find(
                1,
                Agent.withHands(hands -> (step, seen) -> hands.execute(
                        step instanceof Step.Launch launch && launch.parent() != null
                                ? new Step.Launch(launch.declared(), launch.hash(), launch.directory(), null)
                                : step,
                        seen)));

        assertEquals(Invariant.PARTS_GO_WITH_THEIR_PARENT, failure.violation().invariant());
        Failure small = failure.shrunk();
        assertTrue(small.fate().moments().size() <= A_FEW, small::report);
    }

    @Tag("nightly")
    @Test
    void whoTakesTheTasksOfADriverForEndedWithItIsFound() {
        requireSecondLaunchIsFound(39, PlantedBugTest::endingTasksWithTheirDriver);
    }

    @Tag("nightly")
    @Test
    void whoTakesWhatAGuestDoesNotTellOfForEndedIsFound() {
        requireSecondLaunchIsFound(23, PlantedBugTest::endingWhatIsNotToldOf);
    }

    @Tag("nightly")
    @Test
    void whoDoesNotBootAGuestWhoseAgentWasStartedAgainIsFound() {
        Failure failure = find(42, new Agent(PlantedBugTest::blindForAgents, UnaryOperator.identity()));

        assertEquals(Invariant.CONVERGES, failure.violation().invariant(), failure.violation()::getMessage);
        Failure small = failure.shrunk();
        assertTrue(small.fate().moments().size() <= A_FEW, small::report);
        assertTrue(small.report().contains("loss=GUEST_AGENT"), small::report);
    }

    @Test
    void aReportSaysWhatBrokeWhyThatMattersAndHowToSeeItAgain() {
        Failure failure = find(
                1,
                Agent.withHands(hands -> (step, seen) ->
                        step instanceof Step.Stop ? Outcome.done("stopped") : hands.execute(step, seen)));
        String report = failure.shrunk().report();

        assertTrue(report.contains("seed " + failure.fate().seed() + ": NOTHING_ALIVE_IS_FORGOTTEN"), report);
        assertTrue(report.contains(Invariant.NOTHING_ALIVE_IS_FORGOTTEN.promise()), report);
        assertTrue(report.contains("stop: ") || report.contains("stop\n"), report);
        assertTrue(report.contains("-Dsimulation.seed=" + failure.fate().seed()), report);
    }

    @Test
    void theSameSeedIsTheSameHistory() {
        Scenario fate = Scenario.of(7);
        Simulation one = new Simulation(fate, Agent.REAL, null, true);
        Simulation other = new Simulation(Scenario.of(7), Agent.REAL, null, true);
        one.run();
        other.run();

        assertFalse(one.story().isEmpty());
        assertEquals(one.story(), other.story());
        assertEquals(one.struck(), other.struck());
    }

    /** Of who takes for ended what is not. */
    private static void requireSecondLaunchIsFound(long known, UnaryOperator<Observer> eyes) {
        Failure failure = find(known, new Agent(eyes, UnaryOperator.identity()));

        assertTrue(
                ImmutableSet.of(Invariant.NEVER_TWO, Invariant.NOTHING_ALIVE_IS_FORGOTTEN)
                        .contains(failure.violation().invariant()),
                failure.violation()::getMessage);
        Failure small = failure.shrunk();
        assertTrue(small.fate().moments().size() <= A_FEW, small::report);
    }

    /** @param known the seed of a history in which this agent fails, which is tried first */
    private static Failure find(long known, Agent agent) {
        return LongStream.concat(LongStream.of(known), LongStream.rangeClosed(1, SEEDS))
                .mapToObj(seed -> Failure.of(Scenario.of(seed), agent))
                .flatMap(Optional::stream)
                .findFirst()
                .orElseThrow(() -> new AssertionError("not found in " + SEEDS + " histories"));
    }

    /** Sees no processes where it could not look. */
    private static Observer credulous(Observer eyes) {
        return seeingEnds(eyes, seen -> seen.instances() instanceof Observation.Unseen<?>);
    }

    /** Sees no task of a driver that does not run. */
    private static Observer endingTasksWithTheirDriver(Observer eyes) {
        return seeingEnds(
                eyes,
                seen -> Kinds.isTask(seen.id())
                        && eyes.look(FakeProcesses.DRIVER, ImmutableList.of(), Checks.NONE)
                                        .instances()
                                instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var drivers)
                        && drivers.stream().allMatch(driver -> driver.liveness() instanceof Liveness.Ended));
    }

    /** Sees no container that its guest does not tell of. */
    private static Observer endingWhatIsNotToldOf(Observer eyes) {
        return seeingEnds(
                eyes,
                seen -> Kinds.isContainer(seen.id())
                        && running(seen)
                                .anyMatch(running -> running.health() != null
                                        && running.health().verdict() == Health.Verdict.DEGRADED));
    }

    private static Stream<Liveness.Running> running(ObservedWorkload seen) {
        return seen.instances() instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var all)
                ? all.stream()
                        .map(ObservedInstance::liveness)
                        .filter(Liveness.Running.class::isInstance)
                        .map(Liveness.Running.class::cast)
                : Stream.empty();
    }

    /** Takes every agent of a guest for the one that it was. */
    private static Observer blindForAgents(Observer eyes) {
        return seeing(
                eyes,
                (seen, instances) ->
                        seen.instances() instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var all)
                                ? seen.withInstances(all.stream()
                                        .map(one -> one.liveness() instanceof Liveness.Running running
                                                        && running.lost().contains(Loss.GUEST_AGENT)
                                                ? new ObservedInstance(
                                                        one.instance(),
                                                        one.remembered(),
                                                        new Liveness.Running(
                                                                running.identity(),
                                                                running.age(),
                                                                true,
                                                                running.health() == null
                                                                        ? null
                                                                        : Health.healthy(Instant.EPOCH)))
                                                : one)
                                        .collect(ImmutableList.toImmutableList()))
                                : seen);
    }

    /** Takes everything that is remembered of a workload for ended, where it is seen like that. */
    private static Observer seeingEnds(Observer eyes, Predicate<ObservedWorkload> where) {
        Exit exit = new Exit(null, null, Exit.Reason.UNKNOWN, Instant.EPOCH);
        return seeing(
                eyes,
                (seen, instances) -> where.test(seen)
                        ? seen.withInstances(instances.stream()
                                .map(instance -> new ObservedInstance(instance, true, new Liveness.Ended(exit)))
                                .collect(ImmutableList.toImmutableList()))
                        : seen);
    }

    /** Looks as these eyes do, and takes workloads for something else. */
    private static Observer seeing(
            Observer eyes, BiFunction<ObservedWorkload, ImmutableList<Instance>, ObservedWorkload> mistake) {
        return new Observer() {
            @Override
            public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
                return mistake.apply(eyes.look(id, instances, checks), instances);
            }

            @Override
            public boolean isGone(Instance instance) {
                return eyes.isGone(instance);
            }

            @Override
            public Observation<ImmutableSet<String>> archives() {
                return eyes.archives();
            }

            @Override
            public ImmutableMap<String, FileContent> files(@Nullable ProgramUser user, ImmutableSet<String> paths) {
                return eyes.files(user, paths);
            }

            @Override
            public HostFacts host(ImmutableSet<HostFact> asked) {
                return eyes.host(asked);
            }

            @Override
            public Observation<ImmutableSet<WorkloadId>> traces() {
                return eyes.traces();
            }
        };
    }
}
