package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Calendar;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Lifecycle.Triggers;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.runtime.timer.TimerKind;
import io.homeostat.reconcile.sim.Wish.Probing;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * Everything that will happen in one history, known before it begins.
 *
 * @param seed that it grew from
 * @param hints false: nobody ever tells the agent of anything, there is only the resync
 * @param harshness how often faults strike, in percent of {@link Fault#permille}
 */
record Scenario(long seed, boolean hints, int harshness, ImmutableList<Moment> moments) {
    static final ImmutableList<WorkloadId> IDS = ImmutableList.of(
            WorkloadId.plugin("alpha"),
            WorkloadId.plugin("beta"),
            FakeProcesses.MONITOR,
            new WorkloadId(TimerKind.TIMER, "delta"),
            FakeProcesses.DRIVER,
            new WorkloadId(Kind.TASK, "zeta"),
            FakeProcesses.SANDBOX,
            new WorkloadId(Kind.CONTAINER, "theta"));

    /** A machine in this one, and what runs in it. */
    private static final ImmutableList<WorkloadId> OF_A_GUEST =
            ImmutableList.of(FakeProcesses.MONITOR, FakeProcesses.SANDBOX, IDS.getLast());

    private static final int REVISIONS = 3;

    /** To passes that of Nomad's driver is like the others. */
    private static final SourceName[] SOURCES = {
        SourceName.CONTROL_PLANE, SourceName.APPLIED, SourceName.FILES, SourceName.LOCAL
    };

    private static final Behaviour[] OF_DAEMONS = Stream.of(Behaviour.values())
            .filter(behaviour -> !behaviour.runsToItsEnd() && behaviour != Behaviour.COMPLETES)
            .toArray(Behaviour[]::new);

    private static final Behaviour[] OF_ONE_SHOTS = {
        Behaviour.FAILS,
        Behaviour.ENDLESS,
        Behaviour.EXITS_AT_ONCE,
        Behaviour.UNFETCHABLE,
        Behaviour.UNLAUNCHABLE,
        Behaviour.NEVER_LISTENS,
        Behaviour.START_ERROR
    };

    private static final Triggers[] TRIGGERS = {
        new Triggers(true, false, null),
        new Triggers(false, true, null),
        new Triggers(false, false, Duration.ofMinutes(20)),
        new Triggers(true, true, Duration.ofHours(1)),
        new Triggers(false, false, null, new Calendar("*/20 * * * *", "UTC"))
    };

    static Scenario of(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Policies policies = new Policies(new SplittableRandom(Long.reverse(seed)));
        boolean hints = random.nextInt(4) > 0;
        int harshness = new int[] {0, 50, 100, 100, 200}[random.nextInt(5)];
        int count = 15 + random.nextInt(25);
        // These need each other so much that little would happen to them if all else happened, too.
        boolean guest = random.nextInt(4) == 0;
        ImmutableList<WorkloadId> ids = guest ? OF_A_GUEST : IDS;
        Orders orders = new Orders(new SplittableRandom(~seed), ids);
        ImmutableList.Builder<Moment> moments = ImmutableList.builder();
        for (int number = 0; number < count; number++) {
            WorkloadId id = ids.get(random.nextInt(ids.size()));
            long luck = random.nextLong();
            WorldEvent event = guest && number < ids.size()
                    ? new WorldEvent.Declare(source(random), ids.get(number), good(random))
                    : ofGuests(event(random, id));
            moments.add(new Moment(
                    number,
                    luck,
                    policies.instead(orders.instead(event)),
                    when(random),
                    hints && random.nextInt(100) < 70,
                    pause(random)));
        }
        return new Scenario(seed, hints, harshness, moments.build());
    }

    Scenario withMoments(Iterable<Moment> some) {
        return new Scenario(seed, hints, harshness, ImmutableList.copyOf(some));
    }

    private static <T> T any(T[] all, SplittableRandom random) {
        return all[random.nextInt(all.length)];
    }

    private static Moment.When when(SplittableRandom random) {
        int roll = random.nextInt(100);
        if (roll < 75) {
            return Moment.When.BETWEEN_PASSES;
        }
        return any(Moment.When.values(), random);
    }

    private static long pause(SplittableRandom random) {
        int roll = random.nextInt(100);
        if (roll < 25) {
            return random.nextInt(500);
        }
        return roll < 96 ? random.nextInt(120_000) : random.nextInt(1_000_000);
    }

    private static WorldEvent event(SplittableRandom random, WorkloadId id) {
        int roll = random.nextInt(110);
        if (roll < 31) {
            return new WorldEvent.Declare(source(random), id, wish(random, id));
        } else if (roll < 34) {
            return new WorldEvent.Pause(id);
        } else if (roll < 41) {
            return new WorldEvent.Withdraw(sources(random), id);
        } else if (roll < 53) {
            return new WorldEvent.Kill(id, random.nextInt(100) < 25 ? 1 + random.nextInt(3) : 0);
        } else if (roll < 61) {
            return new WorldEvent.Feel(id, any(Health.Verdict.values(), random));
        } else if (roll < 64) {
            return new WorldEvent.MoveLink(id);
        } else if (roll < 66) {
            return new WorldEvent.Spoil(id);
        } else if (roll < 69) {
            return new WorldEvent.DeleteInstalls(id);
        } else if (roll < 71) {
            return new WorldEvent.DamageInstalls(id);
        } else if (roll < 73) {
            return new WorldEvent.DeleteOpenFile(id, any(new Loss[] {Loss.SOCKET, Loss.LOG}, random));
        } else if (roll < 76) {
            return new WorldEvent.RecyclePid(id);
        } else if (roll < 79) {
            return new WorldEvent.EmptyCache();
        } else if (roll < 82) {
            return new WorldEvent.SetLimits(id, limits(random));
        } else if (roll < 86) {
            return new WorldEvent.SetClock(clockError(random));
        } else if (roll < 91) {
            return new WorldEvent.Reboot();
        } else if (roll < 94) {
            return new WorldEvent.KillAgent();
        }
        if (roll < 97) {
            return new WorldEvent.LoseDatabase();
        } else if (roll < 100) {
            return new WorldEvent.Resume(id);
        } else if (roll < 103) {
            return new WorldEvent.RetryNow(id);
        }
        SourceName source = random.nextBoolean() ? SourceName.FILES : SourceName.LOCAL;
        if (roll < 108) {
            return roll < 106 ? new WorldEvent.BreakFile(source, id) : new WorldEvent.MendFile(source, id);
        }
        return new WorldEvent.Deviate(id);
    }

    /** What is in a guest has no files here that anybody could spoil: there its agent is started again. */
    private static WorldEvent ofGuests(WorldEvent event) {
        return switch (event) {
            case WorldEvent.MoveLink(var id) when Kinds.isOfGuest(id) -> lossOfAgent();
            case WorldEvent.DeleteInstalls(var id) when Kinds.isOfGuest(id) -> lossOfAgent();
            case WorldEvent.DamageInstalls(var id) when Kinds.isOfGuest(id) -> lossOfAgent();
            case WorldEvent.DeleteOpenFile(var id, var loss) when Kinds.isOfGuest(id) -> lossOfAgent();
            default -> event;
        };
    }

    private static WorldEvent lossOfAgent() {
        return new WorldEvent.DeleteOpenFile(FakeProcesses.SANDBOX, Loss.GUEST_AGENT);
    }

    private static SourceName source(SplittableRandom random) {
        int roll = random.nextInt(100);
        if (roll < 50) {
            return SourceName.APPLIED;
        } else if (roll < 75) {
            return SourceName.FILES;
        }
        return roll < 90 ? SourceName.CONTROL_PLANE : SourceName.LOCAL;
    }

    private static ImmutableSet<SourceName> sources(SplittableRandom random) {
        return random.nextInt(100) < 60 ? ImmutableSet.copyOf(SOURCES) : ImmutableSet.of(any(SOURCES, random));
    }

    private static Duration clockError(SplittableRandom random) {
        long bound = switch (random.nextInt(4)) {
            case 0 -> 5_000;
            case 1 -> 600_000;
            case 2 -> Duration.ofDays(2).toMillis();
            default -> Duration.ofDays(20_000).toMillis();
        };
        return Duration.ofMillis(random.nextLong(-bound, bound));
    }

    private static Wish good(SplittableRandom random) {
        return Wish.of("GOOD-" + random.nextInt(REVISIONS), ImmutableList.of(), "config" + random.nextInt(2));
    }

    private static Wish wish(SplittableRandom random, WorkloadId id) {
        return random.nextInt(100) < 75 || Kinds.isNeverDone(id) ? daemon(random, id) : oneShot(random, id);
    }

    private static Wish oneShot(SplittableRandom random, WorkloadId id) {
        Behaviour behaviour = random.nextInt(100) < 60 ? Behaviour.FINISHES : any(OF_ONE_SHOTS, random);
        boolean speaks = id.kind().equals(Kind.PLUGIN);
        if (!speaks && (behaviour == Behaviour.NEVER_LISTENS || behaviour == Behaviour.START_ERROR)) {
            behaviour = Behaviour.ENDLESS;
        } else if (!Kinds.hasArchive(id) && behaviour == Behaviour.UNFETCHABLE) {
            behaviour = Behaviour.UNLAUNCHABLE;
        }
        ImmutableList<String> arguments = random.nextInt(100) < 80 ? ImmutableList.of() : ImmutableList.of("-v");
        return Wish.of(behaviour + "-" + random.nextInt(REVISIONS), arguments, "config" + random.nextInt(2))
                .limited(limits(random))
                .when(any(TRIGGERS, random));
    }

    private static Wish daemon(SplittableRandom random, WorkloadId id) {
        Behaviour behaviour = random.nextInt(100) < 50 ? Behaviour.GOOD : any(OF_DAEMONS, random);
        if (!id.kind().equals(Kind.PLUGIN)) {
            behaviour = onceConfigured(behaviour);
        }
        if (!Kinds.isToldToStart(id)) {
            behaviour = withoutProtocol(behaviour);
        }
        if (!Kinds.hasArchive(id)) {
            behaviour = withoutArchive(behaviour);
        }
        String revision = behaviour + "-" + random.nextInt(REVISIONS);
        return new Wish(
                revision,
                random.nextInt(100) < 90 ? revision : revision + "-rebuilt",
                random.nextInt(100) < 70 ? ImmutableList.of() : ImmutableList.of("-v"),
                "config" + random.nextInt(2),
                random.nextInt(100) < 90 ? 0 : 3,
                probe(random, behaviour),
                limits(random),
                Declarations.DAEMON,
                Wish.Order.NONE);
    }

    private static Limits limits(SplittableRandom random) {
        return switch (random.nextInt(4)) {
            case 0 -> new Limits(new Size(64 << 20), null, false);
            case 1 -> new Limits(new Size(128 << 20), new Cpu(20), random.nextBoolean());
            default -> Limits.NONE;
        };
    }

    /** It is given no other configuration while it runs. */
    private static Behaviour onceConfigured(Behaviour behaviour) {
        return switch (behaviour) {
            case APPLY_UNSUPPORTED, APPLY_ERROR -> Behaviour.GOOD;
            default -> behaviour;
        };
    }

    private static Behaviour withoutProtocol(Behaviour behaviour) {
        return behaviour == Behaviour.START_ERROR ? Behaviour.EXITS_AT_ONCE : behaviour;
    }

    /** Nor is anybody asked whether it listens. */
    private static Behaviour withoutArchive(Behaviour behaviour) {
        return switch (behaviour) {
            case UNFETCHABLE -> Behaviour.UNLAUNCHABLE;
            case NEVER_LISTENS -> Behaviour.EXITS_AT_ONCE;
            default -> behaviour;
        };
    }

    private static Probing probe(SplittableRandom random, Behaviour behaviour) {
        int roll = random.nextInt(100);
        if (roll < 5) {
            return Probing.ELSEWHERE;
        }
        // Without a probe nobody would notice that it does not listen.
        return roll < 50 || behaviour == Behaviour.NEVER_LISTENS ? Probing.WHERE_IT_LISTENS : Probing.NONE;
    }

    /**
     * One event of the world, and what is up to it until the next one.
     *
     * @param number in its history, from 0
     * @param seed of all that is left to chance until the next moment
     * @param when of a pass the event strikes
     * @param hinted whether somebody tells the agent
     * @param thenMillis how much time passes until the next moment
     */
    record Moment(int number, long seed, WorldEvent event, When when, boolean hinted, long thenMillis) {
        /** Where an event falls. */
        enum When {
            BETWEEN_PASSES,
            /** In the next pass, after the look and before the plan. */
            DURING_A_LOOK,
            /** After the look and the plan of the next pass that does something. */
            BEFORE_A_STEP,
            /** Between two effects of a step. */
            IN_A_STEP,
            /** Before the outcome of a step is written down. */
            AFTER_A_STEP
        }

        @Override
        public String toString() {
            return "#" + number + " " + event + (when == Moment.When.BETWEEN_PASSES ? "" : " " + when)
                    + (hinted ? "" : ", nobody tells") + ", then " + thenMillis + " ms";
        }
    }
}
