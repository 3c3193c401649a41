package io.homeostat.observe.process;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSetMultimap;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.LaunchDirectory.Born;
import io.homeostat.observe.process.LaunchDirectory.Recorded;
import io.homeostat.observe.process.ProcFs.ProcessKey;
import io.homeostat.observe.process.ProcFs.Stat;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The processes of one launch. A process is one of them only when that is certain:
 *
 * <ul>
 *   <li>it is the main process: number, start and boot;
 *   <li>it is the user's that the workload runs as, and has the launch's mark in its environment: of others anybody could have put it
 *       there;
 *   <li>it is in the main process's session. The kernel gives a session's number to nobody else while a process is in the session,
 *       so one that was in it before the main process ended makes sure of all that are in it now;
 *   <li>its parent is one of them;
 *   <li>it is in the workload's control groups, unless it has the mark of another launch that there are notes on, and that is one of the
 *       workload's, or its main process runs and is an ancestor of it or leads its session;
 *   <li>it was one of them when this object looked before.
 * </ul>
 *
 * <p>A process may keep us from reading its environment. Where there are no control groups, and no ancestor tells whose it is, it is not
 * known then whether it is one of them: {@link #checkKnown}.
 *
 * <p>Where there are no control groups, what leaves the session, replaces its environment and loses its parent before anybody looks
 * can't be found this way.
 */
public final class ProcessTree {
    /** Which processes belong to a launch. */
    public enum Extent {
        /** All that it has started. */
        TREE,
        /** The main process alone: what it has started is something else's, and goes on without it. */
        MAIN
    }

    /** What the kernel shows of a process in a namespace that we do not see into. */
    private static final long NOT_HERE = 0;

    private final ProcFs procFs;
    private final Layout layout;
    private final LaunchDirectory directory;
    private final WorkloadId id;
    private final String launchId;
    private final @Nullable ProcessIdentity main;
    private final LimitObserver groups;
    private final Extent extent;
    private Set<ProcessKey> known = Set.of();
    private boolean mayHide;
    private int user;

    /** The processes of which it is not known whether they are some of them, each with those that have to end before it can be. */
    private ImmutableSetMultimap<ProcessKey, ProcessKey> unknown = ImmutableSetMultimap.of();

    private @Nullable RunningProcesses last;

    /** @param main null when it is not known; the other signs remain */
    public ProcessTree(
            ProcFs procFs,
            Layout layout,
            Instance instance,
            @Nullable ProcessIdentity main,
            LimitObserver groups,
            Extent extent) {
        this.id = instance.workload();
        this.groups = groups;
        this.procFs = procFs;
        this.layout = layout;
        this.launchId = instance.launchId();
        this.directory = new LaunchDirectory(layout.launch(id, launchId));
        this.main = main;
        this.extent = extent;
    }

    /** Looks at all processes of the machine and returns those of the launch that run now, including the main process. */
    public ImmutableList<Stat> members() throws IOException {
        if (main != null && !main.bootId().equals(procFs.bootId())) {
            return ImmutableList.of();
        }
        if (extent == Extent.MAIN) {
            return main == null ? ImmutableList.of() : alone(main);
        }
        Optional<Recorded> end = directory.exit();
        RunningProcesses running = procFs.running();
        Map<Long, Stat> found = new LinkedHashMap<>();
        for (ProcessKey key : known) {
            add(running.of(key.pid()), found, stat -> ProcessKey.of(stat).equals(key));
        }
        if (main != null) {
            add(running.of(main.pid()), found, stat -> stat.is(main));
        }
        user = user();
        addAll(running.marked(launchId, main, user), found);
        boolean whole = addGrouped(running, found);
        addSession(running, found, end);
        addChildren(running, found);
        Set<ProcessKey> next = new HashSet<>();
        found.values().forEach(stat -> next.add(ProcessKey.of(stat)));
        known = next;
        mayHide = running.mayHide(main) || !whole;
        unknown = unknown(running, found);
        last = running;
        return ImmutableList.copyOf(found.values());
    }

    /**
     * Returns those in the workload's control groups at this moment, as far as the last look at all processes tells which are another
     * launch's. That takes less than a millisecond: processes that fork on and end outrun {@link #members}.
     */
    public ImmutableList<Stat> grouped() throws IOException {
        RunningProcesses running = last;
        if (running == null || extent == Extent.MAIN) {
            return ImmutableList.of();
        }
        Map<Long, Stat> found = new LinkedHashMap<>();
        mayHide = !addGrouped(running, found);
        return ImmutableList.copyOf(found.values());
    }

    /**
     * Whether the last look may have missed one: that was just being executed, and does not have the environment that it is known by, or that
     * was in the control groups and has ended since, maybe after it forked another one.
     */
    public boolean mayHide() {
        return mayHide;
    }

    /**
     * Makes sure that the last look has missed none because of a process that keeps its memory.
     *
     * @throws IOException names the process, the user and the remedy
     */
    public void checkKnown() throws IOException {
        if (!unknown.isEmpty()) {
            String pids = ImmutableSet.copyOf(unknown.values()).stream()
                    .map(key -> Long.toString(key.pid()))
                    .collect(Collectors.joining(" "));
            throw new IOException(
                    "user " + user + " keeps us from reading the memory of a process that may belong to it and"
                            + " waits for a file system in user space; kill -9 " + pids
                            + ", and if that does not end it, the program of that file system");
        }
    }

    /** Whether the last look could not tell if this process is one of them. */
    boolean mayBe(Stat stat) {
        return unknown.containsKey(ProcessKey.of(stat));
    }

    private ImmutableSetMultimap<ProcessKey, ProcessKey> unknown(RunningProcesses running, Map<Long, Stat> found) {
        ImmutableList<Stat> silent = running.silent(main, user);
        if (silent.isEmpty() || groups.haveAll(id)) {
            return ImmutableSetMultimap.of();
        }
        ImmutableSetMultimap.Builder<ProcessKey, ProcessKey> result = ImmutableSetMultimap.builder();
        for (Stat stat : silent) {
            if (!found.containsKey(stat.pid()) && keeper(running, stat).isEmpty()) {
                result.putAll(ProcessKey.of(stat), running.holders(stat));
            }
        }
        return result.build();
    }

    /** Returns the launch whose keeper is above a process. */
    private Optional<String> keeper(RunningProcesses running, Stat stat) {
        return running.withAncestors(stat).stream()
                .filter(above -> above.pid() != stat.pid())
                .flatMap(above -> procFs.keptLaunch(above.pid()).stream())
                .findFirst();
    }

    private ImmutableList<Stat> alone(ProcessIdentity identity) throws IOException {
        return procFs.stat(identity.pid())
                .filter(stat -> stat.is(identity) && stat.alive())
                .map(ImmutableList::of)
                .orElse(ImmutableList.of());
    }

    private static void add(@Nullable Stat stat, Map<Long, Stat> found, Predicate<Stat> condition) {
        if (stat != null && condition.test(stat)) {
            found.put(stat.pid(), stat);
        }
    }

    private static void addAll(ImmutableList<Stat> stats, Map<Long, Stat> found) {
        stats.forEach(stat -> found.put(stat.pid(), stat));
    }

    /**
     * Adds those in the workload's control groups. Groups that cannot be read tell nothing.
     *
     * @return false when one was there that has ended meanwhile
     */
    private boolean addGrouped(RunningProcesses running, Map<Long, Stat> found) throws IOException {
        boolean whole = true;
        if (groups.pids(id) instanceof Observation.Seen<ImmutableSortedSet<Long>>(ImmutableSortedSet<Long> pids)) {
            for (long pid : pids) {
                if (pid == NOT_HERE || pid == ProcessHandle.current().pid()) {
                    continue;
                }
                // Anew: since all were looked at, it may have been forked, and the number have become another one's.
                Optional<Stat> stat = procFs.stat(pid).filter(Stat::alive);
                if (stat.isEmpty()) {
                    whole = false;
                } else if (!isOfAnotherLaunch(running, stat.get())) {
                    found.put(pid, stat.get());
                }
            }
        }
        return whole;
    }

    /**
     * Whether it is of another launch, from within this one or of a machine that the state belonged to before. The mark alone does not tell:
     * a user with several workloads could give one that of another, where nobody would look for it when it is stopped. Of the
     * launches of one workload all are stopped.
     */
    private boolean isOfAnotherLaunch(RunningProcesses running, Stat stat) throws IOException {
        Optional<String> own = running.mark(user, stat);
        Optional<String> mark =
                (running.isSilent(stat) ? keeper(running, stat) : own).filter(other -> !other.equals(launchId));
        Optional<LaunchDirectory> other =
                mark.isPresent() ? LaunchDirectory.noted(layout, mark.get()) : Optional.empty();
        if (other.isEmpty()) {
            return mark.isPresent() && isKept(running, stat, mark.get());
        }
        Optional<Born> born = other.get().born();
        return born.isPresent()
                && born.get().identity().bootId().equals(procFs.bootId())
                && (isOfThisWorkload(other.get())
                        || running.comesOf(stat, born.get().identity()));
    }

    /** Whether it comes of a keeper of that launch, though the state does not know it, as after a backup was restored. */
    private boolean isKept(RunningProcesses running, Stat stat, String mark) {
        return running.withAncestors(stat).stream()
                .filter(above -> above.pid() != stat.pid())
                .anyMatch(above -> procFs.keeps(above.pid(), mark));
    }

    private boolean isOfThisWorkload(LaunchDirectory launch) {
        Path launches = launch.path().resolveSibling("");
        return launches.endsWith(layout.launches().relativize(layout.launches(id)));
    }

    /** Whose the launch is: its workload's state directory was given to that user before it began, and nobody but root can give it away. */
    private int user() throws IOException {
        try (PinnedFile state = PinnedFile.of(layout.workloadState(id))) {
            // Another user's program would name whom it likes.
            UserMounts.now().check(state);
            return state.facts().uid();
        } catch (NoSuchFileException e) {
            return Account.ourUid();
        }
    }

    private void addSession(RunningProcesses running, Map<Long, Stat> found, Optional<Recorded> end) {
        if (main == null) {
            return;
        }
        ImmutableList<Stat> session = running.session(main.pid());
        boolean ours = session.stream()
                .anyMatch(stat -> found.containsKey(stat.pid())
                        || (end.isPresent()
                                && stat.startTicks() >= main.startTicks()
                                && stat.startTicks() < end.get().ticks()));
        if (ours) {
            addAll(session, found);
        }
    }

    private static void addChildren(RunningProcesses running, Map<Long, Stat> found) {
        Deque<Stat> parents = new ArrayDeque<>(found.values());
        while (!parents.isEmpty()) {
            for (Stat child : running.children(parents.remove().pid())) {
                if (found.put(child.pid(), child) == null) {
                    parents.add(child);
                }
            }
        }
    }
}
