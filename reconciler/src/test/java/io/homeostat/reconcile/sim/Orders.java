package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Lifecycle.Execution;
import io.homeostat.desired.model.Lifecycle.MaxDisruption;
import io.homeostat.desired.model.Lifecycle.Rule;
import io.homeostat.desired.model.MaintenanceWindow;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.host.HostFacts.HostFact;
import io.homeostat.reconcile.runtime.timer.TimerKind;
import java.time.Duration;
import java.util.Optional;
import java.util.SplittableRandom;

/** What declarations have to do with each other, with the time of the day and with the machine, and how the machine changes. */
final class Orders {
    private static final ImmutableList<String> EVERY_DAY =
            ImmutableList.of("mon", "tue", "wed", "thu", "fri", "sat", "sun");

    private final SplittableRandom random;

    private final ImmutableList<WorkloadId> ids;

    /**
     * @param random of its own, so that the rest of a history is what it would be without
     * @param ids of what is declared
     */
    Orders(SplittableRandom random, ImmutableList<WorkloadId> ids) {
        this.random = random;
        this.ids = ids;
    }

    /** The same, or one of these instead. */
    WorldEvent instead(WorldEvent event) {
        if (strikes(7)) {
            HostFact fact = FakeHost.FACTS.get(random.nextInt(FakeHost.FACTS.size()));
            return switch (random.nextInt(4)) {
                case 0 -> new WorldEvent.HideFact(fact);
                case 1 -> new WorldEvent.ShowFact(fact);
                default -> new WorldEvent.SetFact(fact, strikes(70) ? Optional.of(value()) : Optional.empty());
            };
        }
        if (strikes(6)) {
            return new WorldEvent.WriteFile(strikes(25) ? Optional.empty() : Optional.of("A=" + random.nextInt(3)));
        }
        return event instanceof WorldEvent.Declare(var source, var id, var wish)
                ? new WorldEvent.Declare(source, id, ruled(wish.ordered(order(id))))
                : event;
    }

    private Wish.Order order(WorkloadId id) {
        // Only on those before it, so that there are no circles.
        ImmutableList<String> dependsOn = ids.stream()
                .limit(ids.indexOf(id))
                .filter(other -> strikes(isWhatItRunsIn(id, other) ? 80 : 25))
                .map(WorkloadId::toString)
                .collect(ImmutableList.toImmutableList());
        return new Wish.Order(
                dependsOn,
                strikes(25) ? new MaxDisruption(Wish.LABEL, 1 + random.nextInt(2)) : null,
                strikes(15) ? window() : null,
                id.kind().equals(TimerKind.TIMER) && strikes(50) ? Scenario.IDS.getFirst() : null);
    }

    private static boolean isWhatItRunsIn(WorkloadId id, WorkloadId other) {
        return Kinds.isSandbox(id) && other.equals(FakeProcesses.MONITOR);
    }

    /** Histories begin at midnight and take an hour, as long as nobody sets the clock: open, open for a while, closed. */
    private MaintenanceWindow window() {
        return switch (random.nextInt(3)) {
            case 0 -> new MaintenanceWindow("22:00", Duration.ofHours(6), EVERY_DAY, "UTC");
            case 1 -> new MaintenanceWindow("00:10", Duration.ofMinutes(10), EVERY_DAY, "UTC");
            default -> new MaintenanceWindow("03:00", Duration.ofHours(1), EVERY_DAY, "UTC");
        };
    }

    private Wish ruled(Wish wish) {
        if (!strikes(15)) {
            return wish;
        }
        ImmutableList<Rule> rules = FakeHost.FACTS.stream()
                .limit(1 + random.nextInt(FakeHost.FACTS.size()))
                .map(fact -> new Rule(fact.scope(), fact.attribute(), operator(), value()))
                .collect(ImmutableList.toImmutableList());
        return wish.ruled(
                random.nextBoolean(), random.nextBoolean() ? Execution.Match.ALL : Execution.Match.ANY, rules);
    }

    private Rule.Operator operator() {
        return switch (random.nextInt(3)) {
            case 0 -> Rule.Operator.EQUAL;
            case 1 -> Rule.Operator.NOT_EQUAL;
            default -> Rule.Operator.CONTAINS;
        };
    }

    private String value() {
        return FakeHost.VALUES.get(random.nextInt(FakeHost.VALUES.size()));
    }

    private boolean strikes(int percent) {
        return random.nextInt(100) < percent;
    }
}
