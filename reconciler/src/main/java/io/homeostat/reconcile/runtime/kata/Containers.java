package io.homeostat.reconcile.runtime.kata;

import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.LogAppends;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.proto.kata.Process;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.kata.Guests.Guest;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The containers of this machine, and who follows those that run. Their agents give away what they print, and how they end, only once: so
 * that nothing is lost, only a program that launches and stops containers takes it, and none that only looks.
 */
final class Containers implements AutoCloseable {
    private final Machine machine;
    private final Guests guests;
    private final ContainerNotes notes;
    private final LogAppends logs;
    private final LaunchDirectories launches;

    /** By launch id. */
    private final Map<String, ContainerFollower> followers = new ConcurrentHashMap<>();

    /** Who wants to hear of an end, by launch id. */
    private final Map<String, Runnable> waiting = new ConcurrentHashMap<>();

    private final Map<GuestEndpoint, OutOfMemoryEvents> events = new ConcurrentHashMap<>();
    private volatile boolean closed;

    Containers(Machine machine) {
        this(machine, new Guests(machine, Kind.CONTAINER));
    }

    /** @param guests closed with this */
    Containers(Machine machine, Guests guests) {
        this.machine = machine;
        this.guests = guests;
        this.notes = new ContainerNotes(machine.layout());
        this.logs = new LogAppends(machine.layout(), machine.logTurns());
        this.launches = new LaunchDirectories(machine.layout(), machine.procFs());
    }

    Guests guests() {
        return guests;
    }

    ContainerNotes notes() {
        return notes;
    }

    Guest guest(Identity.Container container) {
        return guests.at(GuestEndpoint.parse(container.endpoint()));
    }

    /** The same for who changes it or takes what it prints, so that it is known what the guest is. A look has no need of that. */
    private Guest known(Instance instance, Identity.Container container) {
        Guest guest = guest(container);
        machine.parent(instance).ifPresent(guest.unanswered()::isOf);
        return guest;
    }

    /** What a launch is changed by. */
    GuestChanges changes(Instance instance, Identity.Container container, Duration timeout) {
        return known(instance, container).changes(timeout);
    }

    /** Where a launch is, or is to be; empty as long as no guest was asked for it. */
    static Optional<Identity.Container> identity(Instance instance) {
        return instance.identity() instanceof Identity.Container container ? Optional.of(container) : Optional.empty();
    }

    /** What it was made in; empty once that has ended, as far as we know: nobody who listens there is no proof of that. */
    Optional<Instance> sandbox(Instance instance) {
        return machine.parent(instance)
                .filter(sandbox -> !Files.exists(launches.of(sandbox).endedFile()));
    }

    /** Takes what a container prints, and how it ends; empty when that is not for this program to take. */
    Optional<ContainerFollower> follow(Instance instance, Identity.Container container) throws IOException {
        if (!machine.adopts() || closed) {
            return Optional.empty();
        }
        Optional<ContainerFollower> known = follower(instance);
        return known.isPresent() ? known : Optional.of(begin(instance, container));
    }

    private ContainerFollower begin(Instance instance, Identity.Container container) throws IOException {
        boolean terminal = notes.process(instance).filter(Process::getTerminal).isPresent();
        Guest guest = known(instance, container);
        ContainerFollower follower = followers.computeIfAbsent(
                instance.launchId(),
                _ -> new ContainerFollower(
                                instance, container, terminal, guest, notes, logs, machine.clock(), this::ended)
                        .begin());
        OutOfMemoryEvents _ = events.compute(
                guest.endpoint(),
                (_, known) -> known != null && known.areAwaited()
                        ? known
                        : OutOfMemoryEvents.start(guest, this::outOfMemory, () -> isFollowed(guest.endpoint())));
        return follower;
    }

    private boolean isFollowed(GuestEndpoint endpoint) {
        return followers.values().stream().anyMatch(other -> other.endpoint().equals(endpoint));
    }

    /** The one who follows a launch, if there is one. */
    Optional<ContainerFollower> follower(Instance instance) {
        return Optional.ofNullable(followers.get(instance.launchId()));
    }

    void watch(Instance instance, Runnable ended) {
        waiting.put(instance.launchId(), ended);
        if (follower(instance).flatMap(ContainerFollower::exit).isPresent()) {
            ended(instance);
        }
    }

    private void ended(Instance instance) {
        Runnable ended = closed ? null : waiting.remove(instance.launchId());
        if (ended != null) {
            ended.run();
        }
    }

    /** A container's id is that of its launch. */
    private void outOfMemory(String container) {
        ContainerFollower follower = followers.get(container);
        if (follower != null) {
            follower.outOfMemory();
        }
    }

    /** Nothing of it is there any more. The connections to its guest stay: others may be about to use them. */
    void forget(Instance instance) {
        waiting.remove(instance.launchId());
        ContainerFollower follower = followers.remove(instance.launchId());
        if (follower != null) {
            follower.close();
        }
    }

    @Override
    public void close() {
        closed = true;
        waiting.clear();
        followers.values().forEach(ContainerFollower::close);
        events.values().forEach(OutOfMemoryEvents::close);
        guests.close();
    }
}
