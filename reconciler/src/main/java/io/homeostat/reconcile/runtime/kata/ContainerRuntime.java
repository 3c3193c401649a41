package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.util.concurrent.Striped;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.LogEnds;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.SignalNames;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.guest.ContainerSettings.InPlace;
import io.homeostat.desired.model.schema.Notation;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.yaml.IoReason;
import io.homeostat.observe.Observation;
import io.homeostat.observe.guest.GuestFailure;
import io.homeostat.observe.guest.UnreachableGuest;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.runtime.Execution;
import io.homeostat.reconcile.runtime.KindRuntime;
import io.homeostat.reconcile.runtime.KindRuntime.Configurable;
import io.homeostat.reconcile.runtime.KindRuntime.Executing;
import io.homeostat.reconcile.runtime.KindRuntime.Signalable;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.kata.GuestChanges.Refused;
import io.homeostat.reconcile.runtime.kata.Guests.Guest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes containers, changes and ends them. No call of these may be repeated, so each is written down before it is sent, and a container of
 * which it is not known whether it was started is ended and made anew under another id.
 */
final class ContainerRuntime implements KindRuntime, Configurable, Signalable, Executing {
    private static final Logger LOG = LoggerFactory.getLogger(ContainerRuntime.class);

    /** For calls that only ask, and for signals. */
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** How long a guest is waited for in which nobody listens, though its sandbox was well. */
    private static final Duration RECONNECTION = Duration.ofSeconds(10);

    private static final String TERM = "SIGTERM";
    private static final int SIGKILL = 9;
    private static final int SIGTERM = 15;

    private final Machine machine;
    private final Containers containers;
    private final ContainerNotes notes;
    private final SandboxNotes sandboxes;
    private final LaunchDirectories launches;
    private final LogEnds logEnds;
    private final LeftOvers leftOvers;
    private final Striped<Lock> firsts = Striped.lazyWeakLock(1 << 30);

    ContainerRuntime(Machine machine, Containers containers) {
        this.machine = machine;
        this.containers = containers;
        this.notes = containers.notes();
        this.sandboxes = new SandboxNotes(machine.layout());
        this.launches = new LaunchDirectories(machine.layout(), machine.procFs());
        this.logEnds = new LogEnds(machine.layout());
        this.leftOvers = new LeftOvers(machine.layout());
    }

    @Override
    public Creation prepare(Step.Launch step, ImmutableSet<String> known)
            throws ActuationFailure, InterruptedException {
        WorkloadId id = step.workload();
        destroyForgotten(id, machine);
        ContainerSpec spec = (ContainerSpec) step.declared().spec();
        Instance sandbox = machine.instances().apply(spec.partOf()).stream()
                .filter(instance -> instance.launchId().equals(step.parent()))
                .findFirst()
                .orElseThrow(() -> noSandbox(spec));
        Identity.Sandbox guest = Guests.identity(sandbox).orElseThrow(() -> noSandbox(spec));
        awaitGuest(sandbox, guest);
        requireSandbox(spec, guest);
        return instance -> create(instance, spec, sandbox, guest.endpoint());
    }

    /** One that has just booted may be reached again by others, and not by us who were refused before that. */
    private void awaitGuest(Instance sandbox, Identity.Sandbox identity) throws ActuationFailure, InterruptedException {
        try {
            // Where it can't be reached at all the question that follows says why.
            boolean _ = containers
                    .guests()
                    .of(identity)
                    .awaitAgent(
                            RECONNECTION,
                            () -> !Files.exists(launches.of(sandbox).endedFile()));
        } catch (UnreachableGuest e) {
            throw new ActuationFailure(
                    FailureCause.Kind.NO_CONNECTION,
                    "the guest of " + sandbox.workload() + " does not answer: " + e.getMessage(),
                    false);
        }
    }

    /** A guest that has just booted anew would take it, and lose it as soon as it is made a sandbox of. */
    private void requireSandbox(ContainerSpec spec, Identity.Sandbox identity) throws ActuationFailure {
        Guest guest = containers.guests().of(identity);
        switch (guest.probes(TIMEOUT).hasSandbox()) {
            case Observation.Seen<Boolean>(Boolean there) -> {
                if (!there) {
                    throw new ActuationFailure(
                            FailureCause.Kind.GUEST_LOST,
                            "the guest of " + spec.partOf() + " has booted anew, and is no sandbox yet",
                            false);
                }
            }
            case Observation.Unseen<Boolean>(String why) ->
                throw new ActuationFailure(
                        FailureCause.Kind.NO_CONNECTION,
                        "the guest of " + spec.partOf() + " does not answer: " + why,
                        false);
        }
    }

    private static ActuationFailure noSandbox(ContainerSpec spec) {
        return new ActuationFailure(
                FailureCause.Kind.NO_CONNECTION, spec.partOf() + ", which it is part of, is not there", false);
    }

    private Identity create(Instance instance, ContainerSpec spec, Instance sandbox, String endpoint)
            throws ActuationFailure, InterruptedException {
        String id = instance.launchId();
        containers.guests().begun().begin(id);
        try {
            return GuestChanges.attempt(
                    "could not launch " + instance.workload().brief(), () -> {
                        Identity.Container container = new Identity.Container(
                                endpoint, id, false, machine.procFs().bootId());
                        return created(instance, container, spec, sandbox);
                    });
        } finally {
            containers.guests().begun().end(id);
        }
    }

    private Identity created(Instance instance, Identity.Container container, ContainerSpec spec, Instance sandbox)
            throws Refused, ActuationFailure, IOException, InterruptedException {
        String id = container.containerId();
        GuestChanges changes =
                containers.changes(instance, container, spec.lifecycle().start().timeout());
        leftOvers.removeOf(instance.workload(), sandbox, changes);
        prepareLog(instance.workload());
        // Before it is asked for: if we die from now on, it is looked for and not asked for again.
        launches.write(instance.withIdentity(container));
        notes.writeGiven(instance, spec.inPlace());
        notes.writeProcess(instance, OciSpecs.process(spec.container()));
        String rootfs = rootfs(instance, spec, sandbox, changes);
        if (Files.exists(sandboxes.sharedPidsFile(sandbox))) {
            createSharing(
                    instance,
                    sandbox,
                    changes,
                    OciSpecs.request(id, spec, rootfs, true),
                    spec.lifecycle().start().timeout());
        } else {
            changes.createContainer(OciSpecs.request(id, spec, rootfs, false));
        }
        // Reads before there is anything to read.
        var _ = containers.follow(instance, container);
        endInput(changes, id);
        start(containers.guest(container), changes, id);
        Identity.Container started = container.answered();
        launches.write(instance.withIdentity(started));
        if (spec.container().frozen()) {
            pause(changes, id);
        }
        return started;
    }

    /** Nobody writes to it, and whoever reads it would wait for ever. */
    private static void endInput(GuestChanges changes, String id)
            throws Refused, UnreachableGuest, InterruptedException {
        try {
            changes.closeInput(id);
        } catch (Refused e) {
            if (e.kind() == GuestFailure.Kind.SILENT || e.kind() == GuestFailure.Kind.LOST) {
                throw e;
            }
            // Few programs read it.
            LOG.debug("container {}: {}", id, e.words());
        }
    }

    /** What has ended before it was started holds up everything in its guest, as long as nobody frees the call. */
    private static void start(Guest guest, GuestChanges changes, String id)
            throws Refused, UnreachableGuest, InterruptedException {
        try {
            changes.startContainer(id);
        } catch (Refused e) {
            if (e.kind() == GuestFailure.Kind.SILENT) {
                var _ = guest.probes(TIMEOUT).freeStart(id);
            }
            throw e;
        }
    }

    /**
     * The namespace that all share is that of the container that was made first, for as long as the guest runs; when that has ended, its
     * agent would have others join one that is not there any more, or that of somebody else.
     */
    private void createSharing(
            Instance instance,
            Instance sandbox,
            GuestChanges changes,
            CreateContainerRequest request,
            Duration patience)
            throws Refused, ActuationFailure, IOException, InterruptedException {
        // Only the first one is made alone: which of two that would be nobody could tell.
        Lock first = firsts.get(sandbox.launchId());
        if (!first.tryLock(patience.toNanos(), TimeUnit.NANOSECONDS)) {
            throw new ActuationFailure(
                    FailureCause.Kind.TIMED_OUT,
                    "the first container of " + sandbox.workload() + " is not made yet, after "
                            + Notation.text(patience),
                    false);
        }
        try {
            Optional<Path> known = sandboxes.firstContainer(sandbox);
            if (known.isEmpty()) {
                sandboxes.writeFirstContainer(sandbox, instance);
                try {
                    changes.createContainer(request);
                } catch (Refused e) {
                    switch (e.kind()) {
                        // It may have been made.
                        case SILENT, LOST, OURS -> {}
                        default -> sandboxes.forgetFirstContainer(sandbox);
                    }
                    throw e;
                } catch (UnreachableGuest e) {
                    sandboxes.forgetFirstContainer(sandbox);
                    throw e;
                }
                return;
            }
            LaunchDirectory directory = new LaunchDirectory(known.get());
            if (!Files.exists(directory.path())
                    || Files.exists(directory.endedFile())
                    || ContainerNotes.hasExit(directory.path())) {
                LaunchDirectories.mark(sandboxes.sharedPidsLostFile(sandbox), sandbox);
                throw new ActuationFailure(
                        FailureCause.Kind.GUEST_LOST,
                        "the container has ended that the first process of the namespace was in that all in "
                                + sandbox.workload() + " share; its guest has to boot anew",
                        false);
            }
        } finally {
            first.unlock();
        }
        changes.createContainer(request);
    }

    /** Where it is in the guest; what has to be copied there is, unless that was done since the guest has booted. */
    private String rootfs(Instance instance, ContainerSpec spec, Instance sandbox, GuestChanges changes)
            throws IOException, Refused, UnreachableGuest, ActuationFailure, InterruptedException {
        Optional<String> there = spec.container().rootfs().directory();
        String directory = instance.directory();
        if (there.isPresent() || directory == null) {
            return there.orElseThrow(() -> new IOException("it has no root file system"));
        }
        WorkloadId id = instance.workload();
        String to = GuestFiles.PLACE + id.name() + "/" + directory;
        Path copied = sandboxes.copiedFile(sandbox, id, directory);
        if (!Files.exists(copied)) {
            GuestFiles.copy(machine.layout().install(id, directory), to, changes);
            LaunchDirectories.mark(copied, sandbox);
        }
        return to;
    }

    private void prepareLog(WorkloadId id) throws IOException {
        SecureDirectories.create(machine.layout().workloadState(id), SecureDirectories.OURS);
        // What was logged earlier explains no failure of this launch.
        logEnds.note(id);
    }

    /** Also where it is done already, by us before a crash, or by somebody else. */
    private static void pause(GuestChanges changes, String id) throws Refused, UnreachableGuest, InterruptedException {
        try {
            changes.pause(id);
        } catch (Refused e) {
            if (!e.words().contains("current status is: Paused")) {
                throw e;
            }
        }
    }

    private static void resume(GuestChanges changes, String id) throws Refused, UnreachableGuest, InterruptedException {
        try {
            changes.resume(id);
        } catch (Refused e) {
            if (!e.words().contains("not paused")) {
                throw e;
            }
        }
    }

    /** Its limits, and whether it is paused. */
    @Override
    public Outcome configure(Step.ApplyConfig step, Instance instance) throws ActuationFailure, InterruptedException {
        ContainerSpec spec = (ContainerSpec) step.declared().spec();
        Identity.Container container = Containers.identity(instance).orElse(null);
        return container == null
                ? new Outcome.Unsupported()
                : GuestChanges.attempt(
                        "could not give " + step.workload().brief() + " its limits",
                        () -> configured(instance, container, spec));
    }

    private Outcome configured(Instance instance, Identity.Container container, ContainerSpec spec)
            throws Refused, ActuationFailure, IOException, InterruptedException {
        InPlace wanted = spec.inPlace();
        InPlace before = notes.given(instance).orElse(wanted);
        if (before.isLiftedBy(wanted)) {
            return new Outcome.Unsupported();
        }
        String id = container.containerId();
        Guest guest = containers.guest(container);
        GuestChanges changes =
                containers.changes(instance, container, spec.lifecycle().start().timeout());
        LinuxResources resources = OciSpecs.resources(wanted);
        if (!resources.equals(LinuxResources.getDefaultInstance())) {
            changes.updateContainer(id, resources);
        }
        if (wanted.frozen()) {
            // In this order, so that nobody begins a command in it that would never end.
            try (CommandTurn _ = CommandTurn.take(
                    notes.turnFile(instance), instance, containers.guests().timing(), TIMEOUT)) {
                notes.writeGiven(instance, wanted);
                pause(changes, id);
            }
        } else {
            if (before.frozen()) {
                notes.writeGiven(instance, wanted.withFrozen(true));
                resume(changes, id);
            }
            notes.writeGiven(instance, wanted);
        }
        requireLimits(guest, id, wanted);
        return Outcome.done();
    }

    /** An agent may say yes and do nothing. */
    private static void requireLimits(Guest guest, String id, InPlace wanted) throws ActuationFailure {
        if (guest.probes(TIMEOUT).usage(id) instanceof Observation.Seen<Optional<CgroupStats>>(var usage)
                && usage.isPresent()) {
            ImmutableList<String> differences =
                    ContainerObserver.deviation(wanted, usage.get()).repairable();
            if (!differences.isEmpty()) {
                throw new ActuationFailure(
                        FailureCause.Kind.LIMITS,
                        "its agent has taken the limits, and does not have them: " + String.join("; ", differences),
                        false);
            }
        }
    }

    @Override
    public String stop(Instance instance, boolean cleanup, Lifecycle.Stop how)
            throws ActuationFailure, InterruptedException {
        String words = stopped(instance, cleanup, how);
        // What its guest says of it from now on is no news.
        LaunchDirectories.mark(launches.of(instance).endedFile(), instance);
        return words;
    }

    private String stopped(Instance instance, boolean cleanup, Lifecycle.Stop how)
            throws ActuationFailure, InterruptedException {
        Identity.Container container = noted(instance);
        if (container == null) {
            return "had not been made";
        }
        // An agent that is only starting again still has it.
        boolean wasThere = awaitAgent(instance, container, how.timeout());
        GuestChanges changes = containers.changes(instance, container, TIMEOUT);
        try {
            String words = container.started() ? ended(instance, container, changes, how) : "had not been started";
            changes.removeContainer(container.containerId());
            return words;
        } catch (UnreachableGuest e) {
            if (SandboxObserver.isGone(e) && containers.sandbox(instance).isEmpty()) {
                return "had ended with its guest";
            }
            if (SandboxObserver.isGone(e) && !wasThere) {
                noteLeftOver(instance, container);
                return "was given up: for " + Notation.text(how.timeout())
                        + " nobody has listened in its guest; if that comes back it is removed there";
            }
            throw new ActuationFailure(
                    FailureCause.Kind.NO_CONNECTION,
                    instance.workload().brief() + " can't be stopped: " + e.getMessage(),
                    false);
        } catch (Refused e) {
            return switch (e.kind()) {
                case NO_CONTAINER -> "had ended already";
                // What was sent is done once its agent does anything at all.
                case SILENT -> {
                    if (!cleanup) {
                        throw e.because("could not stop " + instance.workload().brief());
                    }
                    noteLeftOver(instance, container);
                    yield "was given up: its guest does not answer, and what is in it ends with its virtual machine";
                }
                default ->
                    throw e.because("could not stop " + instance.workload().brief());
            };
        } catch (IOException e) {
            throw new ActuationFailure(
                    instance.workload().brief() + " can't be stopped: " + IoReason.withFile(e), false, e);
        }
    }

    /** What has ended with its sandbox is not waited for. */
    private boolean awaitAgent(Instance instance, Identity.Container container, Duration timeout)
            throws InterruptedException {
        try {
            return containers
                    .guest(container)
                    .awaitAgent(timeout, () -> containers.sandbox(instance).isPresent());
        } catch (UnreachableGuest e) {
            // Whatever is asked then says the same.
            LOG.debug("[{}] {}", instance.workload().brief(), e.getMessage());
            return false;
        }
    }

    private void noteLeftOver(Instance instance, Identity.Container container) throws ActuationFailure {
        Optional<Instance> sandbox = containers.sandbox(instance);
        if (sandbox.isPresent()) {
            leftOvers.note(sandbox.get(), instance.workload(), container.containerId());
        }
    }

    private String ended(Instance instance, Identity.Container container, GuestChanges changes, Lifecycle.Stop how)
            throws Refused, ActuationFailure, IOException, InterruptedException {
        String id = container.containerId();
        ContainerFollower follower =
                containers.follow(instance, container).orElseThrow(() -> new IOException("this program ends"));
        if (follower.isOver()) {
            return "had ended already";
        }
        try {
            if (notes.given(instance).filter(InPlace::frozen).isPresent()) {
                resume(changes, id);
            }
            int signal = SignalNames.number(how.signal() == null ? TERM : how.signal())
                    .orElseThrow();
            // An agent makes SIGKILL of a SIGTERM that nobody handles.
            notes.writeSignalled(instance);
            changes.signal(id, id, signal);
        } catch (Refused e) {
            if (e.kind() != GuestFailure.Kind.NO_PROCESS && e.kind() != GuestFailure.Kind.SILENT) {
                throw e;
            }
        }
        if (follower.awaitEnd(how.timeout())) {
            return "ended after the signal to stop";
        }
        notes.writeSignalled(instance);
        changes.killAll(id);
        return follower.awaitEnd(TIMEOUT)
                ? "was killed with all of its processes"
                : "was killed with all of its processes, and its guest does not say that it has ended";
    }

    /** Where it was asked for, as was written down before. */
    private Identity.@Nullable Container noted(Instance instance) throws ActuationFailure {
        Optional<Identity.Container> known = Containers.identity(instance).filter(Identity.Container::started);
        if (known.isPresent()) {
            return known.get();
        }
        try {
            return Containers.identity(launches.completed(instance)).orElse(null);
        } catch (IOException e) {
            throw new ActuationFailure(
                    "where " + instance.workload().brief() + " is can't be read: " + IoReason.withFile(e), false, e);
        }
    }

    /** What its agent keeps of it goes, as far as it can be told; a guest that does nothing is not waited for. */
    @Override
    public void destroy(Instance instance) throws ActuationFailure, InterruptedException {
        Identity.Container container = noted(instance);
        if (container != null && !Files.exists(launches.of(instance).endedFile())) {
            try {
                containers.changes(instance, container, TIMEOUT).removeContainer(container.containerId());
            } catch (Refused e) {
                if (e.kind() != GuestFailure.Kind.NO_CONTAINER) {
                    LOG.warn(
                            "[{}] what is left of it in its guest: {}",
                            instance.workload().brief(),
                            e.words());
                    noteLeftOver(instance, container);
                }
            } catch (UnreachableGuest e) {
                LOG.debug("[{}] {}", instance.workload().brief(), e.getMessage());
                noteLeftOver(instance, container);
            }
        }
        containers.forget(instance);
        launches.forget(instance.workload(), instance.launchId());
    }

    @Override
    public void remove(WorkloadId id) throws ActuationFailure, InterruptedException {
        destroyForgotten(id, machine);
    }

    /** Nothing here waits for a guest. */
    @Override
    public void upkeep() {
        containers.guests().writeUnanswered();
    }

    @Override
    public Sending prepareSignal(Instance instance, String signal) throws ActuationFailure {
        Identity.Container container = Containers.identity(instance)
                .filter(Identity.Container::started)
                .orElseThrow(() -> new ActuationFailure(
                        FailureCause.Kind.REFUSED, instance.workload().brief() + " has not been started yet", false));
        int number = SignalNames.number(signal).orElseThrow();
        return () -> {
            String could =
                    "could not send " + signal + " to " + instance.workload().brief();
            if (number == SIGTERM || number == SIGKILL) {
                notes.writeSignalled(instance);
            }
            try {
                containers
                        .changes(instance, container, TIMEOUT)
                        .signal(container.containerId(), container.containerId(), number);
            } catch (Refused e) {
                throw e.because(could);
            } catch (UnreachableGuest e) {
                throw new ActuationFailure(FailureCause.Kind.NO_CONNECTION, could + ": " + e.getMessage(), false);
            }
        };
    }

    @Override
    public Execution exec(Instance instance, Execution.Request request) throws ActuationFailure, InterruptedException {
        return ContainerExecution.begin(containers, instance, request, TIMEOUT);
    }
}
