package io.homeostat.actuate.limits;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Iterables;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.CgroupHierarchy.Version;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.Controller;
import io.homeostat.observe.limits.LimitFiles;
import io.homeostat.observe.limits.TaskCgroups;
import io.homeostat.observe.limits.TaskGroupName;
import io.homeostat.observe.process.Pidfd;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the control groups that a driver of Nomad expects for a task, kills whatever is in them, and removes them. The drivers move
 * the task in. The parents are shared with all agents of the machine and with Nomad itself, which makes them only when it
 * starts: they stay.
 */
public final class TaskGroups {
    private static final Logger LOG = LoggerFactory.getLogger(TaskGroups.class);

    private static final int KILL = 9;

    /** A killed process that is still there after this hangs in the kernel. */
    private static final Duration KILL_TIME = Duration.ofSeconds(10);

    /** A process that waits for a device stands still anyway, but the freezer waits for it. */
    private static final Duration FREEZE_TIME = Duration.ofMillis(500);

    /** What is thawed dies within microseconds, unless it waits for something. */
    private static final Duration DYING_TIME = Duration.ofMillis(200);

    private static final Duration POLL = Duration.ofMillis(5);

    /** What Nomad passes down in version 2, and drivers write to. */
    private static final ImmutableList<String> PASSED_DOWN = ImmutableList.of("cpuset", "cpu", "io", "memory", "pids");

    private static final String CPUSET = "cpuset";

    private static final ImmutableList<String> CPUSET_FILES = ImmutableList.of("cpuset.cpus", "cpuset.mems");

    private final TaskCgroups cgroups;
    private final ProcFs procFs;
    private final ControlFiles files;
    private final ReservedCores cores;
    private final Ticker ticker;
    private final long self = ProcessHandle.current().pid();

    public TaskGroups(TaskCgroups cgroups, ProcFs procFs) {
        this(cgroups, procFs, ControlFiles.ofTheKernel(), Ticker.systemTicker());
    }

    /** @param files who changes the groups; for tests */
    public TaskGroups(TaskCgroups cgroups, ProcFs procFs, ControlFiles files, Ticker ticker) {
        this.cgroups = cgroups;
        this.procFs = procFs;
        this.files = files;
        this.cores = new ReservedCores(cgroups, files);
        this.ticker = ticker;
    }

    /** Whether a driver finds what it needs. */
    public sealed interface Prepared {
        /**
         * The groups are there.
         *
         * @param lacking the controllers without effect on the task, and why
         */
        record Ready(ImmutableSortedMap<String, String> lacking) implements Prepared {}

        /**
         * Some could not be made. Drivers that use groups fail to start a task then, and some leave its process behind.
         *
         * @param reason what, why and what to do, for people
         */
        record Unavailable(String reason) implements Prepared {}

        /**
         * So many processors as the task wants for itself are not to be had now.
         *
         * @param reason what, why and what to do, for people
         */
        record Taken(String reason) implements Prepared {}
    }

    /** Makes all groups that a driver expects before it starts this task, without limits. */
    public Prepared prepare(TaskGroupName name) {
        return prepare(name, Limits.NONE);
    }

    /**
     * The same with limits, which hold from the first instruction of what a driver moves in. Drivers may set them, too, but not all do.
     *
     * @param limits the memory and the processor that all processes of the task together may use, and how many processors nobody else may
     */
    public Prepared prepare(TaskGroupName name, Limits limits) {
        Optional<Version> version = cgroups.version();
        if (version.isEmpty()) {
            return new Prepared.Unavailable(
                    "there are no control groups in " + cgroups.root()
                            + " in which a driver could start a task; mount them there (cgroup2, or freezer, cpu, memory and cpuset)");
        }
        SortedMap<String, String> lacking = new TreeMap<>();
        int wanted = limits.cores() == null ? 0 : limits.cores();
        try {
            switch (version.get()) {
                case V1 -> makeFirst(name, lacking);
                case V2 -> makeSecond(name, wanted > 0, lacking);
            }
            Optional<String> taken = lacking.containsKey(CPUSET) ? Optional.empty() : reserve(name, wanted);
            if (taken.isPresent()) {
                return new Prepared.Taken("it wants " + wanted + (wanted == 1 ? " processor" : " processors")
                        + " for itself (limits.cores), and "
                        + taken.get() + "; ask for fewer, or stop what has reserved them");
            }
        } catch (IOException e) {
            return new Prepared.Unavailable("could not make the control groups of the task " + name.task() + ": "
                    + Disk.reason(e) + "; run homeostat as root, with " + cgroups.root() + " writable");
        }
        limit(version.get(), name, limits, lacking);
        return new Prepared.Ready(ImmutableSortedMap.copyOf(lacking));
    }

    private Optional<String> reserve(TaskGroupName name, int wanted) throws IOException {
        if (wanted > 0) {
            return cores.reserve(cgroups.partition().orElseThrow(), name, wanted);
        }
        cores.share();
        return Optional.empty();
    }

    private void limit(Version version, TaskGroupName name, Limits limits, SortedMap<String, String> lacking) {
        for (Controller controller : Controller.values()) {
            ImmutableMap<String, String> contents = LimitFiles.contents(version, controller, limits);
            for (Path group : cgroups.groups(name)) {
                contents.forEach((file, text) -> {
                    if (Files.exists(group.resolve(file))) {
                        try {
                            if (!read(group.resolve(file)).equals(text)) {
                                files.write(group.resolve(file), text);
                            }
                        } catch (IOException e) {
                            lacking.putIfAbsent(controller.name().toLowerCase(Locale.ROOT), Disk.reason(e));
                        }
                    }
                });
            }
        }
    }

    private void makeFirst(TaskGroupName name, SortedMap<String, String> lacking) throws IOException {
        for (String controller : TaskCgroups.PER_TASK) {
            if (cgroups.isMounted(controller)) {
                files.makeGroup(cgroups.shared(controller).getLast());
            } else {
                lacking.put(controller, CgroupLayout.NO_CONTROLLER);
            }
        }
        for (Path group : cgroups.groups(name)) {
            files.makeGroup(group);
        }
        if (!cgroups.isMounted(CPUSET)) {
            lacking.put(CPUSET, CgroupLayout.NO_CONTROLLER);
            return;
        }
        for (Path group : cgroups.shared(CPUSET)) {
            files.makeGroup(group);
            for (String file : CPUSET_FILES) {
                // No process can enter one that has no processors or no memory.
                if (read(group.resolve(file)).isEmpty()) {
                    files.write(group.resolve(file), read(group.resolveSibling(file)));
                }
            }
        }
    }

    private void makeSecond(TaskGroupName name, boolean reserved, SortedMap<String, String> lacking)
            throws IOException {
        List<Path> above = new ArrayList<>(List.of(cgroups.root()));
        above.addAll(cgroups.slices(reserved));
        for (Path each : above) {
            files.makeGroup(each);
            List<String> enabled = words(each.resolve("cgroup.subtree_control"));
            for (String controller : PASSED_DOWN) {
                if (!enabled.contains(controller) && !lacking.containsKey(controller)) {
                    passDown(each, controller, lacking);
                }
            }
        }
        files.makeGroup(
                reserved
                        ? cgroups.reserved(name).orElseThrow()
                        : cgroups.groups(name).getFirst());
    }

    /** One by one: an unavailable controller must not keep the others from being enabled. */
    private void passDown(Path group, String controller, SortedMap<String, String> lacking) throws IOException {
        if (!words(group.resolve("cgroup.controllers")).contains(controller)) {
            lacking.put(controller, CgroupLayout.NO_CONTROLLER);
            return;
        }
        try {
            files.write(group.resolve("cgroup.subtree_control"), "+" + controller);
        } catch (IOException e) {
            lacking.put(controller, Disk.reason(e));
        }
    }

    /**
     * Kills all that is in a task's groups; nothing is when this returns. What forks meanwhile can't escape: it is killed by the kernel all
     * at once, or stands still while it is killed.
     *
     * @return whether there was anything
     * @throws ActuationFailure when processes survive even SIGKILL, or cannot be seen
     */
    public boolean kill(TaskGroupName name) throws ActuationFailure, InterruptedException {
        long hopeless = ticker.read() + KILL_TIME.toNanos();
        boolean any = false;
        try {
            TaskCgroups.Occupancy seen = look(name);
            while (seen.populated()) {
                any = true;
                if (ticker.read() >= hopeless) {
                    throw survivors(name, seen);
                }
                killOnce(name, seen);
                seen = awaitEmpty(name, ticker.read() + DYING_TIME.toNanos());
            }
            return any;
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not kill what is in the control groups of the task " + name.task() + ": " + Disk.reason(e),
                    false,
                    e);
        }
    }

    /**
     * Sends a signal to all that is in a task's groups.
     *
     * @return whether there was anything
     */
    public boolean signal(TaskGroupName name, int signal) throws ActuationFailure {
        try {
            TaskCgroups.Occupancy seen = look(name);
            for (long pid : seen.pids()) {
                Optional<ProcFs.Stat> stat = pid == self ? Optional.empty() : procFs.stat(pid);
                if (stat.isPresent()) {
                    boolean _ = Pidfd.signal(procFs, pid, stat.get().startTicks(), signal);
                }
            }
            return seen.populated();
        } catch (IOException e) {
            throw new ActuationFailure(
                    "could not signal what is in the control groups of the task " + name.task() + ": " + Disk.reason(e),
                    false,
                    e);
        }
    }

    private void killOnce(TaskGroupName name, TaskCgroups.Occupancy seen) throws IOException, InterruptedException {
        for (Path group : cgroups.groups(name)) {
            Path atOnce = group.resolve("cgroup.kill");
            if (Files.exists(atOnce)) {
                files.write(atOnce, "1");
                return;
            }
        }
        Optional<Frozen> frozen = Frozen.of(cgroups.groups(name), files);
        try {
            if (frozen.isPresent()) {
                frozen.get().freeze();
                long enough = ticker.read() + FREEZE_TIME.toNanos();
                while (!frozen.get().isFrozen() && ticker.read() < enough) {
                    Thread.sleep(POLL);
                }
            }
            for (long pid : frozen.isPresent() ? look(name).pids() : seen.pids()) {
                Optional<ProcFs.Stat> stat = pid == self ? Optional.empty() : procFs.stat(pid);
                if (stat.isPresent()) {
                    boolean _ = Pidfd.signal(procFs, pid, stat.get().startTicks(), KILL);
                }
            }
        } finally {
            // In version 1, what is frozen does not even die.
            if (frozen.isPresent()) {
                frozen.get().thaw();
            }
        }
    }

    private TaskCgroups.Occupancy awaitEmpty(TaskGroupName name, long until) throws IOException, InterruptedException {
        TaskCgroups.Occupancy seen = look(name);
        while (seen.populated() && ticker.read() < until) {
            Thread.sleep(POLL);
            seen = look(name);
        }
        return seen;
    }

    private TaskCgroups.Occupancy look(TaskGroupName name) throws IOException {
        return switch (cgroups.look(name)) {
            case Observation.Seen<TaskCgroups.Occupancy>(TaskCgroups.Occupancy value) -> value;
            case Observation.Unseen<TaskCgroups.Occupancy>(String why) -> throw new IOException(why);
        };
    }

    private ActuationFailure survivors(TaskGroupName name, TaskCgroups.Occupancy seen) {
        return new ActuationFailure(
                FailureCause.Kind.UNKILLABLE,
                "the task " + name.task() + " could not be stopped: SIGKILL did not end its processes " + seen.pids()
                        + (seen.pids().contains(self) ? ", of which " + self + " is homeostat itself" : "")
                        + "; a process in state D waits for a device or a file system, see dmesg",
                false);
    }

    /**
     * Removes a task's groups, if there are any. Processors that it had for itself are everybody's again.
     *
     * @throws ActuationFailure when processes are in them
     */
    public void remove(TaskGroupName name) throws ActuationFailure, InterruptedException {
        GroupRemover remover = new GroupRemover(CgroupLayout.NONE, files);
        Optional<Path> reserved = cgroups.reserved(name).filter(Files::isDirectory);
        for (Path group :
                Iterables.concat(cgroups.groups(name), reserved.stream().toList())) {
            if (Files.isDirectory(group)) {
                remover.remove(group, "the task " + name.task());
            }
        }
        if (reserved.isPresent()) {
            try {
                cores.share();
            } catch (IOException e) {
                // The next start of a task tries again.
                LOG.warn("the processors that the task {} had for itself stay unused: {}", name.task(), Disk.reason(e));
            }
        }
    }

    private static List<String> words(Path file) throws IOException {
        return Splitter.on(' ').omitEmptyStrings().splitToList(read(file));
    }

    private static String read(Path file) throws IOException {
        return Files.readString(file).strip();
    }

    /** A group with a freezer: {@code freezer.state} in version 1, {@code cgroup.freeze} in version 2. */
    private record Frozen(Path group, String file, String freezing, String thawing, ControlFiles files) {
        static Optional<Frozen> of(ImmutableList<Path> groups, ControlFiles files) {
            for (Path group : groups) {
                if (Files.exists(group.resolve("freezer.state"))) {
                    return Optional.of(new Frozen(group, "freezer.state", "FROZEN", "THAWED", files));
                }
                if (Files.exists(group.resolve("cgroup.freeze"))) {
                    return Optional.of(new Frozen(group, "cgroup.freeze", "1", "0", files));
                }
            }
            return Optional.empty();
        }

        void freeze() throws IOException {
            files.write(group.resolve(file), freezing);
        }

        boolean isFrozen() throws IOException {
            return freezing.equals("FROZEN")
                    ? read(group.resolve(file)).equals(freezing)
                    : read(group.resolve("cgroup.events")).contains("frozen 1");
        }

        /** With those below it, which the task may have frozen. */
        void thaw() throws IOException {
            try (Stream<Path> below = Files.walk(group)) {
                for (Path each : below.filter(Files::isDirectory).toList()) {
                    files.write(each.resolve(file), thawing);
                }
            } catch (UncheckedIOException e) {
                throw e.getCause();
            } catch (NoSuchFileException e) {
                LOG.debug("{} was removed while it was thawed", group);
            }
        }
    }
}
