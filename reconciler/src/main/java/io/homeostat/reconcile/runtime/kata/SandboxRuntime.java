package io.homeostat.reconcile.runtime.kata;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.util.concurrent.Striped;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.SandboxSpec;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.model.guest.GuestNetwork;
import io.homeostat.desired.model.guest.SandboxSettings;
import io.homeostat.desired.model.guest.Storage;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.files.FileContents;
import io.homeostat.observe.guest.GuestFailure;
import io.homeostat.observe.guest.GuestProbes.Responsiveness;
import io.homeostat.observe.guest.NetworkDrift;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.ttrpc.TtrpcChannel;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.KernelModule;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.KindRuntime.Configurable;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.kata.GuestChanges.Refused;
import io.homeostat.reconcile.runtime.kata.Guests.Guest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes sandboxes and ends them. What must not be asked for twice is written down before it is asked for: CreateSandbox goes only to a
 * guest that has none, and a launch of which the answer is not known is not gone on with.
 */
final class SandboxRuntime implements KindRuntime, Configurable {
    private static final Logger LOG = LoggerFactory.getLogger(SandboxRuntime.class);

    /** For calls that only ask. */
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private static final Duration POLL = Duration.ofMillis(100);

    /** What an agent takes to end that has no sandbox any more. */
    private static final Duration AGENT_ENDS = Duration.ofSeconds(3);

    private final Machine machine;
    private final Guests guests;
    private final LaunchDirectories launches;
    private final SandboxNotes notes;
    private final LostSandboxes lost;
    private final LeftOvers leftOvers;
    private final HostClock hostClock = new HostClock();

    /** By guest. */
    private final Striped<Lock> makings = Striped.lazyWeakLock(1 << 30);

    /** A command that ends soon makes one, and had better not begin to read what others are to keep. */
    private int upkeeps;

    SandboxRuntime(Machine machine, Guests guests) {
        this.machine = machine;
        this.guests = guests;
        this.launches = new LaunchDirectories(machine.layout(), machine.procFs());
        this.notes = new SandboxNotes(machine.layout());
        this.lost = new LostSandboxes(machine, notes);
        this.leftOvers = new LeftOvers(machine.layout());
    }

    /** Waits for the guest, which may be booting, and finds out whether it can be made a sandbox of. */
    @Override
    public Creation prepare(Step.Launch step, ImmutableSet<String> known)
            throws ActuationFailure, InterruptedException {
        WorkloadId id = step.workload();
        // Nothing of it runs, or it would not be launched.
        destroyForgotten(id, machine);
        SandboxSpec spec = (SandboxSpec) step.declared().spec();
        Guest guest = guests.at(spec.guest().agent());
        Duration timeout = spec.lifecycle().start().timeout();
        awaitAgent(id, guest, timeout);
        if (lost.isIn(guest, id, TIMEOUT)) {
            endLost(id, guest, timeout);
            awaitAgent(id, guest, timeout);
        }
        requireFresh(id, guest, spec);
        OptionalLong scrapes = guest.probes(TIMEOUT).scrapes() instanceof Observation.Seen<OptionalLong>(OptionalLong n)
                ? n
                : OptionalLong.empty();
        byte[] rules = rules(spec.guest().policy());
        return new Creation() {
            @Override
            public Identity create(Instance instance) throws ActuationFailure, InterruptedException {
                return SandboxRuntime.this.create(instance, spec, guest, scrapes.orElse(0), rules, timeout);
            }

            @Override
            public ImmutableMap<String, FileContent> files() {
                return spec.guest().policy() == null
                        ? ImmutableMap.of()
                        : ImmutableMap.of(spec.guest().policy().path().toString(), FileContent.of(rules));
            }
        };
    }

    private void awaitAgent(WorkloadId id, Guest guest, Duration timeout)
            throws ActuationFailure, InterruptedException {
        long end = guests.timing().read() + timeout.toNanos();
        while (true) {
            String why;
            try {
                var _ = guest.looks().channel();
                Observation<Responsiveness> how = guest.probes(TIMEOUT).responsiveness();
                if (how instanceof Observation.Seen<Responsiveness>(Responsiveness seen)
                        && seen == Responsiveness.SERVING) {
                    return;
                }
                why = how instanceof Observation.Unseen<Responsiveness>(String words)
                        ? words
                        : "a call holds its agent's lock, so that it does nothing else; boot it anew";
            } catch (UnreachableGuest e) {
                why = String.valueOf(e.getMessage());
            }
            if (guests.timing().read() >= end) {
                throw new ActuationFailure(
                        FailureCause.Kind.NO_CONNECTION,
                        "the guest of " + id.brief() + " can't be used, " + Notation.text(timeout)
                                + " after it was first tried: " + why,
                        false);
            }
            guests.timing().sleep(POLL);
        }
    }

    /** Nothing that is in it is anybody's, and it stands in the way of another. */
    private void endLost(WorkloadId id, Guest guest, Duration timeout) throws ActuationFailure, InterruptedException {
        LOG.info("[{}] its guest is back with the sandbox that was given up, which is destroyed", id.brief());
        long end = guests.timing().read() + timeout.toNanos();
        GuestChanges.attempt("could not end the former sandbox of " + id.brief(), () -> {
            TtrpcChannel connection = guest.looks().channel();
            askToEnd(guest.changes(timeout));
            return awaitEnd(guest, connection, end);
        });
        lost.forget(id);
    }

    /** Another sandbox would empty the root file systems of what runs in the one that is there. */
    private void requireFresh(WorkloadId id, Guest guest, SandboxSpec spec) throws ActuationFailure {
        switch (guest.probes(TIMEOUT).hasSandbox()) {
            case Observation.Seen<Boolean>(Boolean there) -> {
                if (there) {
                    requireOwn(id, guest);
                    throw new ActuationFailure(
                            FailureCause.Kind.GUEST_LOST,
                            "the guest at " + guest.endpoint() + " has had a sandbox since it booted, and another one"
                                    + " would destroy what runs in it; " + remedy(spec),
                            false);
                }
            }
            case Observation.Unseen<Boolean>(String why) ->
                throw new ActuationFailure(
                        FailureCause.Kind.REFUSED,
                        "the guest of " + id.brief() + " does not say whether it has a sandbox: " + why,
                        false);
        }
    }

    /** To boot it anew would help one of the two for as long as it takes the other one to do the same. */
    private void requireOwn(WorkloadId id, Guest guest) throws ActuationFailure {
        try {
            Optional<WorkloadId> other = notes.at(guest.endpoint()).stream()
                    .map(Instance::workload)
                    .filter(workload -> !workload.equals(id))
                    .findFirst();
            if (other.isPresent()) {
                throw new ActuationFailure(
                        FailureCause.Kind.REFUSED,
                        "the guest at " + guest.endpoint() + " is that of " + other.get()
                                + ", and a guest has one sandbox; correct spec.endpoint of one of them, or delete one",
                        false);
            }
        } catch (IOException e) {
            LOG.debug("[{}] {}", id.brief(), e.getMessage());
        }
    }

    private static String remedy(SandboxSpec spec) {
        return SandboxKind.hosts(spec).stream()
                .findFirst()
                .map(host -> "boot it anew: homeostat restart " + host)
                .orElse("boot it anew");
    }

    private static byte[] rules(SandboxSettings.@Nullable Policy policy) throws ActuationFailure {
        if (policy == null) {
            return new byte[0];
        }
        try {
            return FileContents.read(null, policy.path().toString());
        } catch (IOException e) {
            throw new ActuationFailure("spec.policy.file can't be read: " + IoReason.withFile(e), false, e);
        }
    }

    private Identity create(
            Instance instance, SandboxSpec spec, Guest guest, long scrapes, byte[] rules, Duration timeout)
            throws ActuationFailure, InterruptedException {
        guests.begun().begin(instance.launchId());
        try {
            return GuestChanges.attempt(
                    "could not launch " + instance.workload().brief(),
                    () -> alone(instance, spec, guest, scrapes, rules, timeout));
        } finally {
            guests.begun().end(instance.launchId());
        }
    }

    /** Of two that want the same guest the second one sees that it is taken. */
    private Identity alone(
            Instance instance, SandboxSpec spec, Guest guest, long scrapes, byte[] rules, Duration timeout)
            throws Refused, ActuationFailure, IOException, InterruptedException {
        Lock making = makings.get(guest.endpoint());
        if (!making.tryLock(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new ActuationFailure(
                    FailureCause.Kind.TIMED_OUT,
                    "another sandbox is being made in the guest at " + guest.endpoint(),
                    false);
        }
        try {
            requireFresh(instance.workload(), guest, spec);
            return created(instance, spec, guest, scrapes, rules, timeout);
        } finally {
            making.unlock();
        }
    }

    private Identity created(
            Instance instance, SandboxSpec spec, Guest guest, long scrapes, byte[] rules, Duration timeout)
            throws Refused, ActuationFailure, IOException, InterruptedException {
        guest.unanswered().isOf(instance);
        GuestChanges changes = guest.changes(timeout);
        if (spec.guest().policy() != null) {
            changes.setPolicy(new String(rules, StandardCharsets.UTF_8));
        }
        setClock(instance, changes);
        applyNetwork(guest, changes, spec.guest().network().toGuestNetwork());
        Identity.Sandbox identity = new Identity.Sandbox(
                spec.guest().endpoint(), scrapes, false, machine.procFs().bootId());
        // Before it is asked for: if we die now, it is looked for and not asked for again.
        launches.write(instance.withIdentity(identity));
        for (Instance former : notes.at(spec.guest().agent())) {
            if (!former.launchId().equals(instance.launchId())) {
                LaunchDirectories.mark(notes.guestBootedFile(former), former);
            }
        }
        notes.writeGiven(instance, spec.guest().network());
        if (spec.guest().sharedPidNamespace()) {
            LaunchDirectories.mark(notes.sharedPidsFile(instance), instance);
        }
        changes.createSandbox(request(instance, spec));
        Identity.Sandbox made = identity.answered();
        launches.write(instance.withIdentity(made));
        guests.contact(instance.launchId()).made(instance.withIdentity(made));
        lost.forget(instance.workload());
        return made;
    }

    private static CreateSandboxRequest request(Instance instance, SandboxSpec spec) {
        CreateSandboxRequest.Builder request = CreateSandboxRequest.newBuilder()
                .setSandboxId(instance.launchId())
                .setHostname(
                        spec.guest().hostname() == null
                                ? instance.workload().name()
                                : spec.guest().hostname())
                .setSandboxPidns(spec.guest().sharedPidNamespace());
        spec.guest().dns().forEach(server -> request.addDns("nameserver " + server));
        for (Storage storage : spec.guest().storages()) {
            request.addStorages(OciSpecs.storage(storage));
        }
        for (String module : spec.guest().kernelModules()) {
            List<String> words = Splitter.on(' ').splitToList(module);
            request.addKernelModules(KernelModule.newBuilder()
                    .setName(words.getFirst())
                    .addAllParameters(words.subList(1, words.size())));
        }
        return request.build();
    }

    /** Some agents may not, and then nobody can. */
    private void setClock(Instance instance, GuestChanges changes) throws UnreachableGuest, InterruptedException {
        try {
            changes.setClock(machine.clock().instant());
        } catch (Refused e) {
            if (e.kind() == GuestFailure.Kind.OURS || e.kind() == GuestFailure.Kind.LOST) {
                // A program that ends, or an agent that does; neither refuses it.
                LOG.debug("[{}] {}", instance.workload().brief(), e.words());
            } else if (guests.contact(instance.launchId()).isClockNewlyRefused()) {
                LOG.warn(
                        "[{}] the clock of its guest stays as it is: {}",
                        instance.workload().brief(),
                        e.words());
            }
        }
    }

    /**
     * Sends what the guest lacks of a network, and looks whether it has it then.
     *
     * @throws ActuationFailure also when it says yes and does nothing
     */
    private static void applyNetwork(Guest guest, GuestChanges changes, GuestNetwork network)
            throws Refused, UnreachableGuest, ActuationFailure, InterruptedException {
        if (SandboxObserver.isVisible(network)) {
            NetworkDrift drift = drift(guest, network);
            for (GuestNetwork.Interface one : drift.interfaces()) {
                changes.updateInterface(one);
            }
            if (drift.routes() || !network.routes().stream().allMatch(NetworkDrift::isTold)) {
                changes.updateRoutes(network.routes());
            }
        }
        if (!network.neighbors().isEmpty()) {
            // Nobody can say whether they are there.
            changes.addNeighbors(network.neighbors());
        }
        if (SandboxObserver.isVisible(network)) {
            NetworkDrift left = drift(guest, network);
            if (!left.isEmpty()) {
                throw new ActuationFailure(
                        FailureCause.Kind.REFUSED,
                        "its agent has taken the network, and does not have it: "
                                + String.join("; ", left.differences()),
                        false);
            }
        }
    }

    private static NetworkDrift drift(Guest guest, GuestNetwork network) throws ActuationFailure {
        return switch (guest.probes(TIMEOUT).network(network)) {
            case Observation.Seen<NetworkDrift>(NetworkDrift drift) -> drift;
            case Observation.Unseen<NetworkDrift>(String why) ->
                throw new ActuationFailure(FailureCause.Kind.REFUSED, "its network can't be read: " + why, false);
        };
    }

    @Override
    public Outcome configure(Step.ApplyConfig step, Instance instance) throws ActuationFailure, InterruptedException {
        SandboxSpec spec = (SandboxSpec) step.declared().spec();
        Guest guest = guests.at(spec.guest().agent());
        guest.unanswered().isOf(instance);
        return GuestChanges.attempt("could not give " + step.workload().brief() + " its network", () -> {
            applyNetwork(
                    guest,
                    guest.changes(spec.lifecycle().start().timeout()),
                    spec.guest().network().toGuestNetwork());
            notes.writeGiven(instance, spec.guest().network());
            return Outcome.done();
        });
    }

    /**
     * Has the agent end, and with it, as a rule, the machine. A guest that hangs can't be made to: then what is in it ends with its machine,
     * which is not ours to stop here.
     */
    @Override
    public String stop(Instance instance, boolean cleanup, Lifecycle.Stop how)
            throws ActuationFailure, InterruptedException {
        String words = destroyed(instance, how);
        // What its guest says from now on is no news of it.
        LaunchDirectories.mark(launches.of(instance).endedFile(), instance);
        return words;
    }

    private String destroyed(Instance instance, Lifecycle.Stop how) throws ActuationFailure, InterruptedException {
        Identity.Sandbox identity = Guests.identity(instance).orElseGet(() -> noted(instance));
        if (identity == null) {
            return "had not been made";
        }
        if (Files.exists(notes.guestBootedFile(instance))) {
            // What is there is another one's.
            return "had ended with its guest";
        }
        Guest guest = guests.of(identity);
        long end = guests.timing().read() + how.timeout().toNanos();
        try {
            TtrpcChannel connection = guest.looks().channel();
            if (guest.probes(TIMEOUT).hasSandbox() instanceof Observation.Seen<Boolean>(Boolean there) && !there) {
                return "had ended already";
            }
            guest.unanswered().isOf(instance);
            askToEnd(guest.changes(how.timeout()));
            return awaitEnd(guest, connection, end) ? "was destroyed" : "was destroyed, and its agent goes on";
        } catch (UnreachableGuest e) {
            if (SandboxObserver.isGone(e)) {
                lost.note(instance, identity);
                return "had ended with its guest";
            }
            throw new ActuationFailure(
                    FailureCause.Kind.NO_CONNECTION,
                    instance.workload().brief() + " can't be stopped: " + e.getMessage(),
                    false);
        } catch (Refused e) {
            if (e.kind() == GuestFailure.Kind.SILENT) {
                lost.note(instance, identity);
                return "was given up: its guest does not answer, and what is in it ends with its virtual machine";
            }
            throw e.because("could not stop " + instance.workload().brief());
        }
    }

    private static void askToEnd(GuestChanges changes) throws Refused, UnreachableGuest, InterruptedException {
        try {
            changes.destroySandbox();
        } catch (Refused e) {
            if (e.kind() != GuestFailure.Kind.LOST) {
                throw e;
            }
            // It ends while it answers.
        }
    }

    /**
     * Waits until there is no sandbox any more, and then for its agent: as long as that answers it would take the next one, too, and end with
     * it.
     *
     * @param end by the ticker, for the first of the two
     * @return whether the agent has ended
     */
    private boolean awaitEnd(Guest guest, TtrpcChannel connection, long end) throws InterruptedException {
        return await(() -> !connection.isOpen() || !isThere(guest), end)
                && await(() -> !connection.isOpen(), guests.timing().read() + AGENT_ENDS.toNanos());
    }

    private boolean await(BooleanSupplier condition, long end) throws InterruptedException {
        while (!condition.getAsBoolean()) {
            if (guests.timing().read() - end >= 0) {
                return false;
            }
            guests.timing().sleep(POLL);
        }
        return true;
    }

    private static boolean isThere(Guest guest) {
        return guest.probes(TIMEOUT).hasSandbox() instanceof Observation.Seen<Boolean>(Boolean there) && there;
    }

    /** What was written down before the agent was asked for it. */
    private Identity.@Nullable Sandbox noted(Instance instance) {
        try {
            return launches.of(instance)
                    .note()
                    .flatMap(note -> Guests.identity(note.instance()))
                    .orElse(null);
        } catch (IOException e) {
            LOG.debug("[{}] {}", instance.workload().brief(), e.getMessage());
            return null;
        }
    }

    @Override
    public void destroy(Instance instance) throws ActuationFailure {
        guests.forget(instance);
        launches.forget(instance.workload(), instance.launchId());
        Guests.identity(instance)
                .map(sandbox -> GuestEndpoint.parse(sandbox.endpoint()))
                .filter(endpoint -> !isUsed(endpoint))
                .ifPresent(guests::leave);
    }

    /** By the sandbox that the guest has by now. */
    private boolean isUsed(GuestEndpoint endpoint) {
        try {
            return !notes.at(endpoint).isEmpty();
        } catch (IOException e) {
            LOG.debug("{}: {}", endpoint, e.getMessage());
            return true;
        }
    }

    @Override
    public void remove(WorkloadId id) throws ActuationFailure, InterruptedException {
        destroyForgotten(id, machine);
        Optional<Guest> guest = lost.of(id).map(guests::of).filter(where -> lost.isIn(where, id, TIMEOUT));
        if (guest.isPresent()) {
            try {
                endLost(id, guest.get(), TIMEOUT);
            } catch (ActuationFailure e) {
                // A removal does not wait for a guest that does nothing.
                LOG.warn("[{}] {}", id.brief(), e.getMessage());
            }
        }
        lost.forget(id);
    }

    /** Nothing here waits for a guest. */
    @Override
    public void upkeep() {
        guests.writeUnanswered();
        boolean goesOn = upkeeps++ > 0;
        boolean jumped =
                hostClock.hasJumped(machine.clock().instant(), guests.timing().read());
        for (Contact contact : guests.contacts()) {
            contact.scrapesToWrite().ifPresent(known -> write(known.instance(), known.count()));
            contact.lossToWrite().ifPresent(this::writeLoss);
            if (goesOn) {
                contact.reached().ifPresent(this::followLog);
                contact.leftOver(leftOvers, guests.timing().read())
                        .ifPresent(instance -> Thread.ofVirtual()
                                .name("left over in " + instance.workload().brief())
                                .start(() -> removeLeftOver(instance)));
            }
            if (jumped) {
                contact.clockIsWrong();
            }
            contact.clockToSet()
                    .ifPresent(instance -> Thread.ofVirtual()
                            .name("clock of " + instance.workload().brief())
                            .start(() -> setClock(instance)));
        }
    }

    private void write(Instance instance, long count) {
        try {
            notes.writeScrapes(instance, count);
        } catch (ActuationFailure e) {
            // A restart of its agent may be noticed later for that, and not less surely by what it has forgotten.
            LOG.debug("[{}] {}", instance.workload().brief(), e.getMessage());
        }
    }

    private void followLog(Instance instance) {
        Guests.identity(instance).ifPresent(identity -> guests.logs().follow(instance, guests.of(identity)));
    }

    private void writeLoss(Instance instance) {
        try {
            LaunchDirectories.mark(notes.agentLostFile(instance), instance);
        } catch (ActuationFailure e) {
            LOG.debug("[{}] {}", instance.workload().brief(), e.getMessage());
        }
    }

    private void removeLeftOver(Instance instance) {
        try {
            leftOvers.removeAll(
                    instance, guests.of(Guests.identity(instance).orElseThrow()).changes(TIMEOUT));
        } catch (UnreachableGuest e) {
            LOG.debug("[{}] {}", instance.workload().brief(), e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void setClock(Instance instance) {
        Guests.identity(instance).ifPresent(identity -> {
            try {
                setClock(instance, guests.of(identity).changes(TIMEOUT));
            } catch (UnreachableGuest e) {
                LOG.debug("[{}] {}", instance.workload().brief(), e.getMessage());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }
}
