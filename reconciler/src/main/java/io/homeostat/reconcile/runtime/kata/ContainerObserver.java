package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.LaunchDirectories.Launch;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.guest.ContainerSettings.InPlace;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Deviation;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.guest.GuestProbes;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.usage.Meter;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.kata.GuestMeter.Use;
import io.homeostat.reconcile.runtime.kata.Guests.Guest;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Asks guests what has become of containers. There is no list of them, and how one has ended is told only once, so that a look asks whether
 * it is there and has processes, and who follows it tells the rest. A guest that does not answer is its sandbox's affair: a container is
 * lost with that and not before.
 */
final class ContainerObserver implements InstanceObserver {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** What an agent takes at most to write down what it was told. */
    private static final Duration NEWS = Duration.ofSeconds(2);

    private static final Duration POLL = Duration.ofMillis(20);

    /** Memory is limited by whole pages; a kernel may have large ones. */
    private static final long PAGE = 64 << 10;

    private final Machine machine;
    private final Containers containers;
    private final ContainerNotes notes;
    private final ContainerProbes probes;
    private final LaunchDirectories launches;
    private final SandboxNotes sandboxes;

    ContainerObserver(Machine machine, Containers containers) {
        this.machine = machine;
        this.containers = containers;
        this.notes = containers.notes();
        this.probes = new ContainerProbes(machine, containers);
        this.launches = new LaunchDirectories(machine.layout(), machine.procFs());
        this.sandboxes = new SandboxNotes(machine.layout());
    }

    @Override
    public Observation<ImmutableList<ObservedInstance>> look(
            WorkloadId id, ImmutableList<Instance> instances, Checks checks) {
        try {
            ImmutableList.Builder<ObservedInstance> seen = ImmutableList.builder();
            for (Launch launch :
                    launches.launches(id, instances, machine.instances().apply(id))) {
                seen.add(observed(launch.instance(), launch.remembered(), checks));
            }
            return Observation.seen(seen.build());
        } catch (UnreachableGuest | Silence e) {
            return Observation.unseen("can't see how " + id.brief() + " is: " + e.getMessage());
        } catch (IOException e) {
            return Observation.unseen("can't see how " + id.brief() + " is: " + IoReason.withFile(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Observation.unseen("interrupted while looking at " + id.brief());
        }
    }

    /** A guest does not say what can't be known otherwise. */
    private static final class Silence extends Exception {
        private static final long serialVersionUID = 1;

        Silence(String why) {
            super(why);
        }
    }

    private ObservedInstance observed(Instance instance, boolean remembered, Checks checks)
            throws IOException, UnreachableGuest, Silence, InterruptedException {
        boolean isWhole = Containers.identity(instance)
                .filter(Identity.Container::started)
                .isPresent();
        Instance known = isWhole ? instance : launches.completed(instance);
        return new ObservedInstance(known, remembered, liveness(known, checks));
    }

    private Liveness liveness(Instance instance, Checks checks)
            throws IOException, UnreachableGuest, Silence, InterruptedException {
        if (instance.isOver()) {
            return ended(Exit.Reason.UNKNOWN, now());
        }
        if (containers.guests().begun().contains(instance.launchId())) {
            return new Liveness.Pending();
        }
        Optional<Exit> exit = notes.exit(instance);
        if (exit.isPresent()) {
            Containers.identity(instance)
                    .filter(container -> !container.started())
                    .ifPresent(this::freeStart);
            return new Liveness.Ended(exit.get());
        }
        if (Files.exists(launches.of(instance).endedFile())) {
            return ended(Exit.Reason.STOPPED, now());
        }
        Optional<Identity.Container> identity = Containers.identity(instance);
        if (identity.isEmpty()) {
            // No guest was asked for it.
            return ended(Exit.Reason.UNKNOWN, now());
        }
        if (!identity.get().mayBeOf(machine.procFs().bootId())) {
            return ended(Exit.Reason.GUEST_GONE, machine.procFs().bootTime());
        }
        return identity.get().started()
                ? liveness(instance, identity.get(), checks.of(instance) instanceof ContainerSpec spec ? spec : null)
                : begun(instance, identity.get(), checks);
    }

    /** By an agent that is about to go on with it, or by one that has died. */
    private Liveness begun(Instance instance, Identity.Container identity, Checks checks)
            throws IOException, UnreachableGuest, Silence, InterruptedException {
        if (isToldMeanwhile(instance, true)) {
            return liveness(launches.completed(instance), checks);
        }
        return interrupted(instance, identity);
    }

    /**
     * Who only looks may come between what a guest has told an agent of ours and the note of it, and would say that nobody knows: so what is
     * not noted yet is waited for.
     *
     * @param starts whether a start is news, beside an end
     */
    private boolean isToldMeanwhile(Instance instance, boolean starts) throws IOException, InterruptedException {
        if (machine.adopts()) {
            return false;
        }
        long end = containers.guests().timing().read() + NEWS.toNanos();
        do {
            if (notes.exit(instance).isPresent()
                    || Files.exists(launches.of(instance).endedFile())
                    || (starts
                            && Containers.identity(launches.completed(instance))
                                    .filter(Identity.Container::started)
                                    .isPresent())) {
                return true;
            }
            containers.guests().timing().sleep(POLL);
        } while (containers.guests().timing().read() - end < 0);
        return false;
    }

    /** We died while an agent was asked for it. Whether it was started can't be found out, and it must not be started twice. */
    private Liveness interrupted(Instance instance, Identity.Container identity) throws IOException, Silence {
        Guest guest = containers.guest(identity);
        try {
            var _ = guest.looks().channel();
        } catch (UnreachableGuest e) {
            if (!SandboxObserver.isGone(e)) {
                throw e;
            }
            if (containers.sandbox(instance).isPresent()) {
                // That it is as it should be would be a guess.
                throw new Silence("its guest can't be reached: " + e.getMessage());
            }
            return ended(Exit.Reason.UNKNOWN, now());
        }
        return switch (guest.probes(TIMEOUT).hasContainer(identity.containerId())) {
            case Observation.Seen<Boolean>(Boolean there) ->
                there
                        ? new Liveness.Orphaned(new Exit(null, null, Exit.Reason.UNKNOWN, now()), 1)
                        : ended(Exit.Reason.UNKNOWN, now());
            case Observation.Unseen<Boolean>(String why) -> {
                freeStart(identity);
                throw new Silence(why);
            }
        };
    }

    /** What has ended before it was started may hold up everything in its guest. Who only looks leaves that as it is. */
    private void freeStart(Identity.Container identity) {
        if (machine.adopts()) {
            var _ = containers.guest(identity).probes(TIMEOUT).freeStart(identity.containerId());
        }
    }

    private Liveness liveness(Instance instance, Identity.Container identity, @Nullable ContainerSpec spec)
            throws IOException, UnreachableGuest, InterruptedException {
        Optional<ContainerFollower> follower = containers.follow(instance, identity);
        Optional<Exit> exit = follower.flatMap(ContainerFollower::exit);
        if (exit.isPresent()) {
            return new Liveness.Ended(exit.get());
        }
        Guest guest = containers.guest(identity);
        try {
            var _ = guest.looks().channel();
        } catch (UnreachableGuest e) {
            if (SandboxObserver.isGone(e) || e.reason() == UnreachableGuest.Reason.NO_ANSWER) {
                return degraded(instance, identity, "its guest can't be reached: " + e.getMessage());
            }
            throw e;
        }
        GuestProbes asked =
                guest.probes(spec == null ? TIMEOUT : spec.lifecycle().health().timeout());
        return switch (asked.usage(identity.containerId())) {
            case Observation.Unseen<Optional<CgroupStats>>(String why) ->
                degraded(instance, identity, "its guest does not tell of it: " + why);
            case Observation.Seen<Optional<CgroupStats>>(Optional<CgroupStats> usage) -> {
                if (usage.isEmpty()) {
                    yield unknownThere(instance, identity, asked);
                }
                boolean isOver = usage.get().getPidsStats().getCurrent() == 0;
                if (isOver && follower.filter(ContainerFollower::follows).isEmpty()) {
                    // It may have been told meanwhile. Else how it has ended is for those to ask who launch containers.
                    Optional<Exit> told = follower.flatMap(ContainerFollower::exit);
                    if (told.isEmpty() && isToldMeanwhile(instance, false)) {
                        told = notes.exit(instance);
                    }
                    yield told.<Liveness>map(Liveness.Ended::new).orElseGet(() -> ended(Exit.Reason.UNKNOWN, now()));
                }
                InPlace given = notes.given(instance).orElse(null);
                Liveness.Running running = running(
                        instance, identity, null, given == null ? Deviation.NONE : deviation(given, usage.get()));
                yield spec == null || isOver
                        ? running
                        : running.withHealth(probes.ask(instance, running, spec, given != null && given.frozen()));
            }
        };
    }

    /** The guest has booted anew, or somebody has removed it, or another agent answers, which could not tell. */
    private Liveness unknownThere(Instance instance, Identity.Container identity, GuestProbes asked)
            throws IOException {
        return switch (asked.hasSandbox()) {
            case Observation.Unseen<Boolean>(String why) ->
                degraded(instance, identity, "its guest does not tell of it: " + why);
            case Observation.Seen<Boolean>(Boolean there) -> {
                if (!there) {
                    yield ended(Exit.Reason.GUEST_BOOTED, now());
                }
                yield isAnotherAgent(instance, asked)
                        ? degraded(
                                instance,
                                identity,
                                "another agent answers in its guest, which knows nothing of it; it may run on until the"
                                        + " guest boots anew")
                        : ended(Exit.Reason.UNKNOWN, now());
            }
        };
    }

    /** By what is known of its sandbox's agent. */
    private boolean isAnotherAgent(Instance instance, GuestProbes asked) throws IOException {
        Optional<Instance> sandbox = machine.parent(instance);
        Optional<Identity.Sandbox> identity = sandbox.flatMap(Guests::identity);
        if (identity.isEmpty()) {
            return false;
        }
        return Files.exists(sandboxes.agentLostFile(sandbox.get()))
                || countsNoMore(asked, sandboxes.scrapes(sandbox.get(), identity.get()));
    }

    /** @param before read before it is asked, as others ask it and note the count, too */
    private static boolean countsNoMore(GuestProbes asked, long before) {
        return asked.scrapes() instanceof Observation.Seen<OptionalLong>(OptionalLong count)
                && count.isPresent()
                && count.getAsLong() <= before;
    }

    /** What an agent can't tell is no difference: it says 0 where it knows nothing. */
    static Deviation deviation(InPlace given, CgroupStats usage) {
        ImmutableList.Builder<String> repairable = ImmutableList.builder();
        long memory = usage.getMemoryStats().getUsage().getLimit();
        if (given.memory() != null
                && memory != 0
                && Math.abs(memory - given.memory().bytes()) >= PAGE) {
            repairable.add("limits.memory is " + size(memory) + " instead of " + Notation.text(given.memory()));
        }
        ImmutableList.Builder<String> remarks = ImmutableList.builder();
        if (given.frozen()) {
            remarks.add("it is frozen, as declared");
        }
        long pids = usage.getPidsStats().getLimit();
        if (given.pids() != null && pids != given.pids()) {
            remarks.add("limits.pids is not enforced by the agent of its guest, which says that it is "
                    + (pids == 0 ? "not limited" : String.valueOf(pids)));
        }
        return new Deviation(repairable.build(), remarks.build());
    }

    /** Unlimited is a number with which nothing can be said. */
    private static String size(long bytes) {
        return bytes < 0 || bytes > Long.MAX_VALUE - PAGE * 2 ? "unlimited" : Notation.text(new Size(bytes));
    }

    private Liveness degraded(Instance instance, Identity.Container identity, String problem) {
        return running(instance, identity, Health.failed(Health.Verdict.DEGRADED, problem, now()), Deviation.NONE);
    }

    private Liveness.Running running(
            Instance instance, Identity.Container identity, @Nullable Health health, Deviation deviation) {
        return new Liveness.Running(identity, machine.age(instance), true, health, ImmutableSet.of(), deviation);
    }

    private static Liveness ended(Exit.Reason reason, Instant at) {
        return new Liveness.Ended(new Exit(null, null, reason, at));
    }

    private Instant now() {
        return machine.clock().instant();
    }

    @Override
    public void watch(Instance instance, Runnable ended) {
        containers.watch(instance, ended);
    }

    @Override
    public Optional<Meter> meter(WorkloadId id) {
        return Optional.of(new GuestMeter(this::usage));
    }

    private Optional<Use> usage(Instance launch) {
        return Containers.identity(launch)
                .filter(Identity.Container::started)
                .flatMap(container -> containers
                        .guest(container)
                        .probes(GuestMeter.TIMEOUT)
                        .usage(container.containerId())
                        .map(counted -> counted.map(stats -> new Use(
                                saturated(stats.getCpuStats().getCpuUsage().getTotalUsage()),
                                saturated(stats.getMemoryStats().getUsage().getUsage()))))
                        .orElse(Optional.empty()));
    }

    /** The guest counts without a sign. */
    private static long saturated(long unsigned) {
        return unsigned < 0 ? Long.MAX_VALUE : unsigned;
    }

    @Override
    public void close() {
        probes.close();
        containers.close();
    }
}
