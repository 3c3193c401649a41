package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One history of one machine, played. The agent in it is the real one: its pass, its planner, its bookkeeping. First the world does
 * its worst, then all faults stop and the machine has to get from wherever it is to where it should be.
 */
final class Simulation {
    private static final Duration RARE_RESYNC = Duration.ofMinutes(15);
    private static final Duration AT_LEAST_CALM = Duration.ofHours(2);
    /** Longer than every pause between two attempts; an undone upgrade may rest a day, and wait for its window after that. */
    private static final Duration AT_MOST_CALM = Duration.ofHours(76);

    private final Scenario fate;
    private final VirtualClock clock = new VirtualClock();
    private final Declarations desired = new Declarations();
    private final FaultInjector faults;
    private final FakeMachine machine;
    private final Story story;
    private final World world;
    private final Loop loop;
    private final Achievability prospects;
    private final ConvergenceChecks checks;

    /**
     * @param allowed the only faults that may strike; null: all that the fate has in store
     * @param told whether the story is wanted
     */
    Simulation(Scenario fate, Agent agent, @Nullable ImmutableSet<Fault.Point> allowed, boolean told) {
        this.fate = fate;
        this.faults = new FaultInjector(Scenario.IDS, fate.harshness(), allowed);
        this.machine = new FakeMachine(faults, clock, desired, fate.seed());
        this.story = new Story(clock, told);
        this.world = new World(faults, clock, desired, machine, story);
        this.loop = new Loop(clock, machine, story, agent, world, faults, fate.hints());
        this.prospects = new Achievability(desired, machine);
        this.checks = new ConvergenceChecks(clock, desired, machine, loop);
    }

    List<String> story() {
        return story.lines();
    }

    List<Fault.Point> struck() {
        return faults.struck();
    }

    /** @throws Invariant.Violation when an invariant does not hold */
    void run() {
        for (Scenario.Moment moment : fate.moments()) {
            live(moment);
        }
        world.calmDown();
        calmDown();
        for (WorkloadId id : Scenario.IDS) {
            checks.requireConverged(id);
        }
        new DryRunCheck(clock, desired, machine, loop).requireForetells(fate.seed());
        checks.requireRestartAtOnce();
    }

    private void live(Scenario.Moment moment) {
        faults.begin(moment);
        come(() -> world.come(moment));
        if (moment.hinted() && moment.event() instanceof WorldEvent.OfWorkload of) {
            loop.hint(of.id());
        }
        loop.run(moment.thenMillis());
        come(world::comeAnyway);
    }

    private void come(Runnable event) {
        try {
            event.run();
        } catch (AgentCrash crash) {
            loop.restart(crash);
        }
    }

    private void calmDown() {
        // Nothing but the resync tells of anything any more; a rare one is enough.
        loop.resync(RARE_RESYNC);
        int launchesBefore = machine.processes.count();
        loop.run(AT_LEAST_CALM.toMillis());
        checks.requirePacing(machine.processes.count() - launchesBefore, AT_LEAST_CALM);
        long end = clock.steadyMillis() + AT_MOST_CALM.toMillis();
        while (clock.steadyMillis() < end && !Scenario.IDS.stream().allMatch(this::rests)) {
            loop.run(AT_LEAST_CALM.toMillis());
        }
        // Whoever is part of what was changed last is looked at once more.
        loop.run(RARE_RESYNC.toMillis());
    }

    private boolean awaitsWindow(WorkloadId id) {
        LastKnownGood lastKnownGood = machine.store.remembered(id).lastKnownGood();
        return lastKnownGood != null
                && desired.declaration(id)
                        .filter(declared -> !declared.hash().equals(lastKnownGood.hash()))
                        .map(declared -> declared.workload().lifecycle().maintenanceWindow())
                        .flatMap(window -> window.opensAfter(clock.instant()))
                        .isPresent();
    }

    /** Whether more time will not change anything. */
    private boolean rests(WorkloadId id) {
        PassResult next = loop.last(id);
        boolean comesAbout = desired.declaration(id).map(prospects::comesAbout).orElse(true);
        return (!comesAbout && !awaitsWindow(id))
                || next instanceof PassResult.Settled
                || (next instanceof PassResult.Later later && later.until().kind() == Step.Wait.Kind.DECLARATION);
    }
}
