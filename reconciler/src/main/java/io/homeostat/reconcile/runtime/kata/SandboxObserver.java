package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.LaunchDirectories.Launch;
import io.homeostat.desired.model.Lifecycle.HealthCheck;
import io.homeostat.desired.model.SandboxSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.guest.GuestNetwork;
import io.homeostat.desired.model.guest.SandboxSettings.Network;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Deviation;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.SelfDescription;
import io.homeostat.observe.guest.GuestMetrics;
import io.homeostat.observe.guest.GuestProbes;
import io.homeostat.observe.guest.GuestProbes.Responsiveness;
import io.homeostat.observe.guest.NetworkDrift;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.usage.Meter;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.kata.GuestMeter.Use;
import io.homeostat.reconcile.runtime.kata.Guests.Guest;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Asks guests how their sandboxes are. What a guest tells is evidence: that there is no sandbox any more, or that its agent is another one. That
 * it tells nothing is none, because a slow guest is not a dead one; only where nobody listens for as many checks as are declared, it is gone.
 */
final class SandboxObserver implements InstanceObserver {
    /** Where no declaration says how long to wait for an answer, and how often to ask. */
    private static final HealthCheck USUAL = new HealthCheck(Duration.ofSeconds(10), Duration.ofSeconds(2), 3);

    private final Machine machine;
    private final Guests guests;
    private final LaunchDirectories launches;
    private final SandboxNotes notes;

    SandboxObserver(Machine machine, Guests guests) {
        this.machine = machine;
        this.guests = guests;
        this.launches = new LaunchDirectories(machine.layout(), machine.procFs());
        this.notes = new SandboxNotes(machine.layout());
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
        } catch (UnreachableGuest e) {
            return Observation.unseen("can't see how " + id.brief() + " is: " + e.getMessage());
        } catch (IOException e) {
            return Observation.unseen("can't see how " + id.brief() + " is: " + IoReason.withFile(e));
        }
    }

    /** Each pass of a container asks this of its sandbox. Of a guest that was told to have one only one question tells. */
    @Override
    public boolean isGone(Instance instance) {
        Identity.Sandbox asked = instance.isOver()
                ? null
                : Guests.identity(instance).filter(Identity.Sandbox::created).orElse(null);
        try {
            if (asked == null
                    || !asked.mayBeOf(machine.procFs().bootId())
                    || Files.exists(launches.of(instance).endedFile())
                    || Files.exists(notes.guestBootedFile(instance))) {
                return InstanceObserver.super.isGone(instance);
            }
            return guests.of(asked)
                    .probes(USUAL.timeout())
                    .hasSandbox()
                    .map(there -> !there)
                    .orElse(false);
        } catch (IOException e) {
            // Its own pass says what there is to say.
            return false;
        }
    }

    private ObservedInstance observed(Instance instance, boolean remembered, Checks checks) throws IOException {
        if (instance.isOver()) {
            return new ObservedInstance(instance, remembered, ended(Exit.Reason.UNKNOWN, now()));
        }
        if (guests.begun().contains(instance.launchId())) {
            return new ObservedInstance(instance, remembered, new Liveness.Pending());
        }
        if (Files.exists(launches.of(instance).endedFile())) {
            return new ObservedInstance(instance, remembered, ended(Exit.Reason.STOPPED, now()));
        }
        if (Files.exists(notes.guestBootedFile(instance))) {
            return new ObservedInstance(instance, remembered, ended(Exit.Reason.GUEST_BOOTED, now()));
        }
        boolean isWhole =
                Guests.identity(instance).filter(Identity.Sandbox::created).isPresent();
        Instance known = isWhole ? instance : launches.completed(instance);
        Optional<Identity.Sandbox> identity = Guests.identity(known);
        if (identity.isEmpty()) {
            // No guest was asked for it.
            return new ObservedInstance(instance, remembered, ended(Exit.Reason.UNKNOWN, now()));
        }
        if (!identity.get().mayBeOf(machine.procFs().bootId())) {
            Instant boot = machine.procFs().bootTime();
            return new ObservedInstance(known, remembered, ended(Exit.Reason.GUEST_GONE, boot));
        }
        SandboxSpec spec = checks.of(known) instanceof SandboxSpec declared ? declared : null;
        return identity.get().created()
                ? new ObservedInstance(known, remembered, asked(liveness(known, identity.get(), spec), spec))
                : interrupted(instance, known, remembered, identity.get(), spec);
    }

    /** Whoever does not ask for its health is told nothing of it. */
    private static Liveness asked(Liveness liveness, @Nullable SandboxSpec spec) {
        return spec == null && liveness instanceof Liveness.Running running ? running.withHealth(null) : liveness;
    }

    /** We died while an agent was asked for it. Half of it may be there, and can't be made whole. */
    private ObservedInstance interrupted(
            Instance instance,
            Instance known,
            boolean remembered,
            Identity.Sandbox identity,
            @Nullable SandboxSpec spec)
            throws UnreachableGuest {
        Guest guest = guests.of(identity);
        Liveness nothing = ended(Exit.Reason.UNKNOWN, now());
        try {
            var _ = guest.looks().channel();
        } catch (UnreachableGuest e) {
            if (isGone(e)) {
                return new ObservedInstance(instance, remembered, nothing);
            }
            throw e;
        }
        return switch (guest.probes(check(spec).timeout()).hasSandbox()) {
            case Observation.Seen<Boolean>(Boolean there) ->
                there
                        ? new ObservedInstance(
                                known,
                                remembered,
                                new Liveness.Orphaned(new Exit(null, null, Exit.Reason.UNKNOWN, now()), 1))
                        : new ObservedInstance(instance, remembered, nothing);
            case Observation.Unseen<Boolean>(String why) ->
                new ObservedInstance(
                        known, remembered, degraded(known, "its guest does not say how far it is: " + why));
        };
    }

    private Liveness liveness(Instance instance, Identity.Sandbox identity, @Nullable SandboxSpec spec)
            throws IOException {
        Guest guest = guests.of(identity);
        guest.unanswered().isOf(instance);
        Contact contact = guests.contact(instance.launchId());
        HealthCheck check = check(spec);
        try {
            var _ = guest.looks().channel();
        } catch (UnreachableGuest e) {
            return unreachable(instance, contact, e);
        }
        GuestProbes probes = guest.probes(check.timeout());
        switch (probes.responsiveness()) {
            case Observation.Unseen<Responsiveness>(String why) -> {
                return silent(instance, contact, "its guest does not answer: " + why);
            }
            case Observation.Seen<Responsiveness>(Responsiveness how) -> {
                if (how == Responsiveness.BLOCKED) {
                    return silent(
                            instance,
                            contact,
                            "its guest is blocked: a call holds its agent's lock; it is waited for, and only a new boot helps"
                                    + " where that never ends");
                }
            }
        }
        switch (probes.hasSandbox()) {
            case Observation.Unseen<Boolean>(String why) -> {
                return silent(instance, contact, "its guest does not tell of it: " + why);
            }
            case Observation.Seen<Boolean>(Boolean there) -> {
                if (!there) {
                    return ended(Exit.Reason.GUEST_BOOTED, now());
                }
            }
        }
        contact.well(instance);
        contact.scrapedBefore(notes.scrapes(instance, identity));
        if (Files.exists(notes.agentLostFile(instance))) {
            contact.agentIsLost();
        }
        if (contact.isAnotherAgent(probes::scrapes)) {
            Health health = health("another agent answers in its guest, which knows nothing of it");
            return running(instance, health, Deviation.NONE, ImmutableSet.of(Loss.GUEST_AGENT));
        }
        if (Files.exists(notes.sharedPidsLostFile(instance))) {
            return running(
                    instance,
                    health("the container has ended that the first process of its shared namespace was in, and no other"
                            + " can be made in this boot"),
                    Deviation.NONE,
                    ImmutableSet.of(Loss.SHARED_PIDS));
        }
        return running(instance, Health.healthy(now()), deviation(instance, probes), ImmutableSet.of());
    }

    /** Where nobody listens any more it may be gone: after as many checks as are declared it counts as that. */
    private Liveness unreachable(Instance instance, Contact contact, UnreachableGuest e) throws IOException {
        if (isGone(e)) {
            Health gone = Health.failed(Health.Verdict.GONE, "its guest is lost: " + why(e), now());
            return running(instance, gone, Deviation.NONE, ImmutableSet.of());
        }
        if (e.reason() == UnreachableGuest.Reason.NO_ANSWER) {
            return silent(instance, contact, "its guest does not answer: " + why(e));
        }
        throw e;
    }

    private static String why(UnreachableGuest e) {
        return String.valueOf(e.getMessage());
    }

    /** Whether nobody is there, as opposed to not answering, or to our not being able to ask. */
    static boolean isGone(UnreachableGuest e) {
        return switch (e.reason()) {
            case NO_SOCKET, REFUSED, NOT_UP, NO_SUCH_GUEST -> true;
            case NO_ANSWER, WRONG_PROTOCOL, NO_VSOCK, NOT_ALLOWED, NOT_TRIED -> false;
        };
    }

    private static HealthCheck check(@Nullable SandboxSpec spec) {
        return spec == null ? USUAL : spec.lifecycle().health();
    }

    /** Of a network that nobody declares nothing is to be said, and neighbours can't be read back. */
    static boolean isVisible(GuestNetwork network) {
        return !network.interfaces().isEmpty() || !network.routes().isEmpty();
    }

    private Deviation deviation(Instance instance, GuestProbes probes) throws IOException {
        Optional<GuestNetwork> given =
                notes.given(instance).map(Network::toGuestNetwork).filter(SandboxObserver::isVisible);
        if (given.isEmpty()) {
            return Deviation.NONE;
        }
        return switch (probes.network(given.get())) {
            case Observation.Seen<NetworkDrift>(NetworkDrift drift) ->
                new Deviation(ImmutableList.copyOf(drift.differences()), ImmutableList.copyOf(drift.remarks()));
            case Observation.Unseen<NetworkDrift>(String why) ->
                new Deviation(ImmutableList.of(), ImmutableList.of("its network can't be compared: " + why));
        };
    }

    private Liveness silent(Instance instance, Contact contact, String problem) throws IOException {
        contact.silent();
        return degraded(
                instance,
                Stream.concat(Stream.of(problem), notes.unanswered(instance).stream())
                        .collect(Collectors.joining("; ")));
    }

    private Liveness degraded(Instance instance, String problem) {
        return running(instance, health(problem), Deviation.NONE, ImmutableSet.of());
    }

    private Health health(String problem) {
        return Health.failed(Health.Verdict.DEGRADED, problem, now());
    }

    private Liveness running(Instance instance, Health health, Deviation deviation, ImmutableSet<Loss> lost) {
        return new Liveness.Running(
                Guests.identity(instance).orElseThrow(), machine.age(instance), true, health, lost, deviation);
    }

    private static Liveness ended(Exit.Reason reason, Instant at) {
        return new Liveness.Ended(new Exit(null, null, reason, at));
    }

    private Instant now() {
        return machine.clock().instant();
    }

    @Override
    public Optional<SelfDescription> describe(WorkloadId id) {
        return machine.instances().apply(id).stream()
                .filter(instance -> !instance.isOver())
                .max(Comparator.comparing(Instance::launchedAt))
                .flatMap(Guests::identity)
                .map(identity -> SandboxDescription.of(guests.of(identity).probes(USUAL.timeout())));
    }

    /** What the guest as a whole uses. */
    @Override
    public Optional<Meter> meter(WorkloadId id) {
        return Optional.of(new GuestMeter(this::usage));
    }

    private Optional<Use> usage(Instance launch) {
        return Guests.identity(launch)
                .filter(Identity.Sandbox::created)
                .flatMap(sandbox -> guests.of(sandbox)
                        .probes(GuestMeter.TIMEOUT)
                        .metrics()
                        .map(SandboxObserver::use)
                        .orElse(Optional.empty()));
    }

    private static Optional<Use> use(GuestMetrics metrics) {
        return metrics.processorNanos().isPresent() && metrics.memoryBytes().isPresent()
                ? Optional.of(new Use(
                        metrics.processorNanos().getAsLong(),
                        metrics.memoryBytes().getAsLong()))
                : Optional.empty();
    }

    @Override
    public void close() {
        guests.close();
    }
}
