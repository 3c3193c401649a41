package io.homeostat.reconcile.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.host.HostFacts;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Instant;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** A simulation that never fails proves nothing: bugs that are put into the agent are found, named, and made small. */
class PlantedBugTest {
    private static final long SEEDS = 300;
    private static final int A_FEW = 4;

    @Test
    void whoLaunchesWithoutStoppingIsFound() {
        // Now and then: in one workload, and only when it is upgraded.
        Failure failure = find(Agent.withHands(hands -> (step, seen) -> step instanceof Step.Stop stop
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
        Failure failure = find(Agent.withHands(hands -> (step, seen) -> {
            Outcome outcome = hands.execute(step, seen);
            return step instanceof Step.Start && outcome instanceof Outcome.Done ? hands.execute(step, seen) : outcome;
        }));

        assertEquals(Invariant.START_AT_MOST_ONCE, failure.violation().invariant());
        Failure small = failure.shrunk();
        assertTrue(small.fate().moments().size() <= A_FEW, small::report);
    }

    @Test
    void whoTakesNotSeenForNotThereIsFoundWithTheFaultThatItTakes() {
        Failure failure = find(new Agent(PlantedBugTest::credulous, UnaryOperator.identity()));

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

    @Test
    void whoLaunchesAPartOutsideOfItsParentIsFound() {
        Failure failure = find(Agent.withHands(hands -> (step, seen) -> hands.execute(
                step instanceof Step.Launch launch && launch.parent() != null
                        ? new Step.Launch(launch.declared(), launch.hash(), launch.directory(), null)
                        : step,
                seen)));

        assertEquals(Invariant.PARTS_GO_WITH_THEIR_PARENT, failure.violation().invariant());
        Failure small = failure.shrunk();
        assertTrue(small.fate().moments().size() <= A_FEW, small::report);
    }

    @Test
    void whoTakesTheTasksOfADriverForEndedWithItIsFound() {
        Failure failure = find(new Agent(PlantedBugTest::endingTasksWithTheirDriver, UnaryOperator.identity()));

        assertTrue(
                ImmutableSet.of(Invariant.NEVER_TWO, Invariant.NOTHING_ALIVE_IS_FORGOTTEN)
                        .contains(failure.violation().invariant()),
                failure.violation()::getMessage);
        Failure small = failure.shrunk();
        assertTrue(small.fate().moments().size() <= A_FEW, small::report);
    }

    @Test
    void aReportSaysWhatBrokeWhyThatMattersAndHowToSeeItAgain() {
        Failure failure = find(Agent.withHands(hands ->
                (step, seen) -> step instanceof Step.Stop ? Outcome.done("stopped") : hands.execute(step, seen)));
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

    private static Failure find(Agent agent) {
        return LongStream.rangeClosed(1, SEEDS)
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

    /** Takes everything that is remembered of a workload for ended, where it is seen like that. */
    private static Observer seeingEnds(Observer eyes, Predicate<ObservedWorkload> where) {
        return new Observer() {
            @Override
            public ObservedWorkload look(WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
                ObservedWorkload seen = eyes.look(id, instances, checks);
                return where.test(seen) ? seen.withInstances(allEnded(instances)) : seen;
            }

            private ImmutableList<ObservedInstance> allEnded(ImmutableList<Instance> instances) {
                Exit exit = new Exit(null, null, Exit.Reason.UNKNOWN, Instant.EPOCH);
                return instances.stream()
                        .map(instance -> new ObservedInstance(instance, true, new Liveness.Ended(exit)))
                        .collect(ImmutableList.toImmutableList());
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
            public ImmutableMap<String, FileContent> files(ImmutableSet<String> paths) {
                return eyes.files(paths);
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
