package io.homeostat.observe.process;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.Observation;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.LaunchDirectory.Recorded;
import io.homeostat.observe.process.ProcFs.ProcessKey;
import io.homeostat.observe.process.ProcFs.Stat;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The processes of one launch. A process is one of them only when that is certain:
 *
 * <ul>
 *   <li>it is the main process: number, start and boot;
 *   <li>it has the launch's mark in its environment;
 *   <li>it is in the main process's session. The kernel gives a session's number to nobody else while a process is in the session,
 *       so one that was in it before the main process ended makes sure of all that are in it now;
 *   <li>its parent is one of them;
 *   <li>it is in the workload's control groups, and has not another launch's mark;
 *   <li>it was one of them when this object looked before.
 * </ul>
 *
 * Where there are no control groups, what leaves the session, replaces its environment and loses its parent before anybody looks
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

    private final ProcFs procFs;
    private final LaunchDirectory directory;
    private final WorkloadId id;
    private final String launchId;
    private final @Nullable ProcessIdentity main;
    private final LimitObserver groups;
    private final Extent extent;
    private Set<ProcessKey> known = Set.of();
    private boolean mayHide;

    /** @param main null when it is not known; the other signs remain */
    public ProcessTree(
            ProcFs procFs,
            LaunchDirectory directory,
            WorkloadId id,
            String launchId,
            @Nullable ProcessIdentity main,
            LimitObserver groups,
            Extent extent) {
        this.id = id;
        this.groups = groups;
        this.procFs = procFs;
        this.directory = directory;
        this.launchId = launchId;
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
        addAll(running.marked(launchId, main), found);
        addGrouped(running, found);
        addSession(running, found, end);
        addChildren(running, found);
        Set<ProcessKey> next = new HashSet<>();
        found.values().forEach(stat -> next.add(ProcessKey.of(stat)));
        known = next;
        mayHide = running.mayHide(main);
        return ImmutableList.copyOf(found.values());
    }

    /** Whether the last look may have missed one that was just being executed, which does not have the environment that it is known by. */
    public boolean mayHide() {
        return mayHide;
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

    /** Groups that cannot be read tell nothing. */
    private void addGrouped(RunningProcesses running, Map<Long, Stat> found) {
        if (groups.pids(id) instanceof Observation.Seen<ImmutableSortedSet<Long>>(ImmutableSortedSet<Long> pids)) {
            for (long pid : pids) {
                add(
                        running.of(pid),
                        found,
                        stat -> running.mark(stat)
                                .filter(mark -> !mark.equals(launchId))
                                .isEmpty());
            }
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
