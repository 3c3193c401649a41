package io.homeostat.actuate.stop;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.ProcessProtocol;
import io.homeostat.actuate.launch.ProcessProtocol.Answer;
import io.homeostat.actuate.stop.Stopper.StopResult.How;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.LaunchDirectory.Born;
import io.homeostat.observe.process.LaunchDirectory.Recorded;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcFs.ProcessKey;
import io.homeostat.observe.process.ProcFs.Stat;
import io.homeostat.observe.process.ProcessTree;
import io.homeostat.observe.process.ProcessTree.Extent;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Stops a launch with its whole process tree. What its protocol can ask to end has the whole timeout to answer; once it has, or at once
 * where nobody can ask, it gets a signal: the main process the declared one, then what is left of the tree SIGTERM. At the timeout
 * everything gets SIGKILL until nothing is left, and then whoever keeps what was killed from ending by tracing it. Stopping
 * what has ended is no error, and an interrupted stop can be repeated.
 */
public final class Stopper {
    /** A killed process that is still there after this hangs in the kernel. */
    private static final Duration KILL_TIME = Duration.ofSeconds(10);

    /** A killed process that is still traced after this is kept from ending, PTRACE_O_TRACEEXIT of ptrace(2). */
    private static final Duration TRACED_TIME = Duration.ofSeconds(1);

    /** How long a launch under way may take to identify itself. */
    private static final Duration BIRTH_TIME = Duration.ofSeconds(2);

    /** At control groups in a row, which takes some ten milliseconds. */
    private static final int MOST_LOOKS = 100;

    private static final Duration POLL = Duration.ofMillis(5);
    private static final Duration TREE_POLL = Duration.ofMillis(50);

    private final ProcFs procFs;
    private final ProcessProtocol protocol;
    private final LimitObserver groups;
    private final Extent extent;
    private final Ticker ticker;
    private final Layout layout;
    private final LaunchDirectories launches;
    private final Signals signals;

    /**
     * @param groups finds processes that have left every other trace of what they belong to
     * @param extent what belongs to a launch, and is stopped with it
     */
    public Stopper(Layout layout, ProcFs procFs, ProcessProtocol protocol, LimitObserver groups, Extent extent) {
        this(layout, procFs, protocol, groups, extent, Ticker.systemTicker());
    }

    Stopper(
            Layout layout,
            ProcFs procFs,
            ProcessProtocol protocol,
            LimitObserver groups,
            Extent extent,
            Ticker ticker) {
        this.groups = groups;
        this.extent = extent;
        this.procFs = procFs;
        this.protocol = protocol;
        this.ticker = ticker;
        this.layout = layout;
        this.launches = new LaunchDirectories(layout, procFs);
        this.signals = new Signals(procFs);
    }

    /**
     * Stops a launch; nothing of it runs when this returns.
     *
     * @throws ActuationFailure when processes survive even SIGKILL, or cannot be seen
     */
    public StopResult stop(StopRequest request) throws ActuationFailure, InterruptedException {
        Instance instance = request.instance();
        try {
            LaunchDirectory directory = launches.of(instance);
            ProcessIdentity identity = instance.process();
            if (identity == null) {
                identity = settled(instance, directory);
            }
            ProcessTree tree = new ProcessTree(procFs, layout, instance, identity, groups, extent);
            boolean runs = identity != null && procFs.runs(identity);
            if (runs) {
                // The tree remembers its members from when their parents could still tell.
                tree.members();
            }
            // What that took is nothing that the program had to end.
            long end = ticker.read() + request.how().timeout().toNanos();
            How how = How.ALREADY_GONE;
            if (runs) {
                how = endMain(request, Objects.requireNonNull(identity), tree, end);
            }
            how = how.or(endRest(instance.workload(), tree, end));
            protocol.ended(instance);
            return new StopResult(how, recorded(instance, directory));
        } catch (IOException | IllegalStateException e) {
            throw new ActuationFailure(
                    "could not stop " + instance.workload().brief() + ": " + e.getMessage(), false, e);
        }
    }

    private How endMain(StopRequest request, ProcessIdentity main, ProcessTree tree, long end)
            throws IOException, InterruptedException {
        Answer answer = protocol.stop(
                request.instance(), request.cleanup(), request.how().timeout());
        if (answer != Answer.NOT_ASKED) {
            if (!procFs.runs(main)) {
                return How.ASKED;
            }
            if (ticker.read() >= end) {
                return How.KILLED;
            }
            tree.members();
        }
        send(main.pid(), main.startTicks(), Signals.number(request.how().signal()));
        // A stopped process would notice only when it continues.
        send(main.pid(), main.startTicks(), Signals.CONT);
        if (!ended(main, end)) {
            return How.KILLED;
        }
        // It may have ended by itself, and the signal have come too late.
        return answer == Answer.AGREED ? How.ASKED : How.TERMINATED;
    }

    private boolean ended(ProcessIdentity main, long until) throws IOException, InterruptedException {
        while (procFs.runs(main)) {
            if (ticker.read() >= until) {
                return false;
            }
            Thread.sleep(POLL);
        }
        return true;
    }

    /** Ends what is left when the main process has ended or used up its time. */
    private How endRest(WorkloadId id, ProcessTree tree, long end)
            throws ActuationFailure, IOException, InterruptedException {
        List<Stat> members = remaining(tree);
        if (members.isEmpty()) {
            return How.ALREADY_GONE;
        }
        if (ticker.read() < end) {
            send(members, Signals.TERM);
            send(members, Signals.CONT);
            while (!members.isEmpty() && ticker.read() < end) {
                Thread.sleep(TREE_POLL);
                members = remaining(tree);
            }
            if (members.isEmpty()) {
                return How.TERMINATED;
            }
        }
        long begin = ticker.read();
        while (!members.isEmpty()) {
            long waited = ticker.read() - begin;
            if (waited >= KILL_TIME.toNanos()) {
                throw survivors(id, members);
            }
            send(members, Signals.KILL);
            killGrouped(tree);
            if (waited >= TRACED_TIME.toNanos()) {
                endTracers(members);
            }
            Thread.sleep(POLL);
            // Again, because processes forked since the last look were not hit.
            members = remaining(tree);
        }
        return How.KILLED;
    }

    /** Ends who traces what another user runs, and is not root's own, such as a debugger. */
    private void endTracers(List<Stat> members) throws IOException {
        for (Stat member : members) {
            OptionalInt user = procFs.realUserId(member.pid());
            if (user.isEmpty() || user.getAsInt() == Account.ourUid()) {
                continue;
            }
            Stat traced = member;
            for (Stat tracer : procFs.tracers(member.pid())) {
                if (!keepsFromEnding(tracer, traced, user.getAsInt())) {
                    break;
                }
                send(List.of(tracer), Signals.KILL);
                traced = tracer;
            }
        }
    }

    private boolean keepsFromEnding(Stat tracer, Stat traced, int user) throws IOException {
        OptionalInt now = procFs.realUserId(tracer.pid());
        if (now.isEmpty()) {
            return false;
        }
        if (now.getAsInt() == user) {
            return true;
        }
        // It has begun as the same user, and may have executed a program since that runs as its owner, as sudo does.
        // But a parent is made the tracer of a child that asks for that (PTRACE_TRACEME), whoever's it is, and does
        // not keep it from ending.
        boolean isAsked = tracer.pid() == traced.parent();
        return !isAsked && (now.getAsInt() != Account.ourUid() || procFs.runsAsOwner(tracer.pid()));
    }

    /** Kills those that fork another process and end in less time than a look at all processes takes. */
    private void killGrouped(ProcessTree tree) throws IOException {
        Set<ProcessKey> killed = new HashSet<>();
        for (int look = 0; look < MOST_LOOKS; look++) {
            List<Stat> fresh = tree.grouped().stream()
                    .filter(stat -> killed.add(ProcessKey.of(stat)))
                    .toList();
            if (fresh.isEmpty() && !tree.mayHide()) {
                return;
            }
            send(fresh, Signals.KILL);
        }
    }

    /** Returns the members of a tree; looks once more when none is seen and one may be hidden, and at its groups until one is seen. */
    private static List<Stat> remaining(ProcessTree tree) throws IOException, InterruptedException {
        List<Stat> seen = tree.members();
        if (seen.isEmpty() && tree.mayHide()) {
            Thread.sleep(POLL);
            seen = tree.members();
            for (int look = 0; look < MOST_LOOKS && seen.isEmpty() && tree.mayHide(); look++) {
                seen = tree.grouped();
            }
        }
        if (seen.isEmpty()) {
            tree.checkKnown();
        }
        return seen;
    }

    /** For a launch of unknown identity: waits until it has identified itself, or makes sure that it never runs and returns null. */
    private @Nullable ProcessIdentity settled(Instance instance, LaunchDirectory directory)
            throws ActuationFailure, IOException, InterruptedException {
        Optional<Born> born = directory.born();
        if (born.isPresent()) {
            return born.get().identity();
        }
        if (!Files.isDirectory(directory.path())) {
            return null;
        }
        try {
            // Once the claim is ours, a late keeper exits at once.
            Files.createFile(directory.claimFile());
            return null;
        } catch (FileAlreadyExistsException e) {
            return awaitBirth(instance, directory);
        }
    }

    private @Nullable ProcessIdentity awaitBirth(Instance instance, LaunchDirectory directory)
            throws ActuationFailure, IOException, InterruptedException {
        long until = ticker.read() + BIRTH_TIME.toNanos();
        long hopeless = until + KILL_TIME.toNanos();
        while (true) {
            List<Stat> launching = procFs.processes().stream()
                    .filter(stat -> procFs.keeps(stat.pid(), instance.launchId()))
                    .toList();
            Optional<Born> born = directory.born();
            if (born.isPresent()) {
                return born.get().identity();
            }
            if (launching.isEmpty()) {
                return null;
            }
            if (ticker.read() >= hopeless) {
                throw survivors(instance.workload(), launching);
            }
            if (ticker.read() >= until) {
                send(launching, Signals.KILL);
            }
            Thread.sleep(POLL);
        }
    }

    private Optional<Exit> recorded(Instance instance, LaunchDirectory directory) throws IOException {
        return directory.awaitExit(procFs, instance.launchId()).map(Recorded::exit);
    }

    private void send(List<Stat> processes, int signal) throws IOException {
        for (Stat stat : processes) {
            send(stat.pid(), stat.startTicks(), signal);
        }
    }

    private void send(long pid, long startTicks, int signal) throws IOException {
        signals.send(pid, startTicks, signal);
    }

    private ActuationFailure survivors(WorkloadId id, List<Stat> processes) {
        return new ActuationFailure(
                FailureCause.Kind.UNKILLABLE,
                id.brief() + " could not be stopped: SIGKILL did not end " + named(processes)
                        + "; a process in state D waits for a device or a file system, see dmesg; one that is traced can't"
                        + " end before its tracer, end the tracer that is named last",
                false);
    }

    private String named(List<Stat> processes) {
        return processes.stream()
                .map(stat -> stat.pid() + " (" + stat.name() + ", state " + stat.state()
                        + procFs.tracers(stat.pid()).stream()
                                .map(by -> ", traced by " + by.pid() + " (" + by.name() + ")")
                                .collect(Collectors.joining())
                        + ")")
                .collect(Collectors.joining(", "));
    }

    /**
     * Which launch to stop, and how.
     *
     * @param cleanup whether it is asked to leave nothing behind, because its workload is being removed
     * @param how by which signal to its main process, and how long until everything is killed
     */
    public record StopRequest(Instance instance, boolean cleanup, Lifecycle.Stop how) {}

    /** The strongest means that was needed, and the main process's exit, if it was recorded. */
    public record StopResult(How how, Optional<Exit> exit) {
        /** From the gentlest to the strongest. */
        public enum How {
            /** Nothing ran any more. */
            ALREADY_GONE,
            /** It agreed when it was asked, and ended in time. */
            ASKED,
            /** SIGTERM. */
            TERMINATED,
            /** SIGKILL. */
            KILLED;

            How or(How other) {
                return compareTo(other) >= 0 ? this : other;
            }
        }

        public String words() {
            return switch (how) {
                case ALREADY_GONE -> "had ended already";
                case ASKED -> "ended when it was asked to";
                case TERMINATED -> "ended after the signal to stop";
                case KILLED -> "did not end in time and was killed";
            };
        }
    }
}
