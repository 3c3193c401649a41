package io.homeostat.observe;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.store.ProcessIdentity;
import io.homeostat.observe.LaunchDirectory.Recorded;
import io.homeostat.observe.ProcFs.Stat;
import java.io.IOException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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
    private final ProcFs procFs;
    private final LaunchDirectory directory;
    private final WorkloadId id;
    private final String launchId;
    private final @Nullable ProcessIdentity main;
    private final LimitObserver groups;
    private final long self;
    private Set<ProcessKey> known = Set.of();

    /** @param main null when it isn't known; the other signs remain */
    public ProcessTree(
            ProcFs procFs,
            LaunchDirectory directory,
            WorkloadId id,
            String launchId,
            @Nullable ProcessIdentity main,
            LimitObserver groups) {
        this.id = id;
        this.groups = groups;
        this.procFs = procFs;
        this.directory = directory;
        this.launchId = launchId;
        this.main = main;
        // An agent that was itself started by the workload is no part of what it watches and stops.
        this.self = ProcessHandle.current().pid();
    }

    /** Looks at every process of the machine: those of the launch that run now, the main process included. */
    public ImmutableList<Stat> members() throws IOException {
        if (main != null && !main.bootId().equals(procFs.bootId())) {
            return ImmutableList.of();
        }
        Optional<Recorded> end = directory.exit();
        Map<Long, Stat> running = new LinkedHashMap<>();
        for (Stat stat : procFs.processes()) {
            running.put(stat.pid(), stat);
        }
        running.remove(self);
        Set<Long> found = new HashSet<>();
        for (Stat stat : running.values()) {
            if (known.contains(ProcessKey.of(stat))
                    || isMain(stat)
                    || procFs.carries(stat.pid(), LaunchMarks.LAUNCH, launchId)) {
                found.add(stat.pid());
            }
        }
        addGrouped(running, found);
        addSession(running, found, end);
        addChildren(running, found);
        ImmutableList<Stat> members = running.values().stream()
                .filter(stat -> found.contains(stat.pid()))
                .collect(ImmutableList.toImmutableList());
        Set<ProcessKey> next = new HashSet<>();
        members.forEach(stat -> next.add(ProcessKey.of(stat)));
        known = next;
        return members;
    }

    private boolean isMain(Stat stat) {
        return main != null && stat.is(main);
    }

    /** Groups that can't be read tell nothing. */
    private void addGrouped(Map<Long, Stat> running, Set<Long> found) {
        if (groups.pids(id) instanceof Observation.Seen<ImmutableSortedSet<Long>>(ImmutableSortedSet<Long> pids)) {
            for (long pid : pids) {
                boolean ofAnother = procFs.variable(pid, LaunchMarks.LAUNCH)
                        .filter(mark -> !mark.equals(launchId))
                        .isPresent();
                if (running.containsKey(pid) && !ofAnother) {
                    found.add(pid);
                }
            }
        }
    }

    private void addSession(Map<Long, Stat> running, Set<Long> found, Optional<Recorded> end) {
        if (main == null) {
            return;
        }
        ImmutableList<Stat> session = running.values().stream()
                .filter(stat -> stat.session() == main.pid())
                .collect(ImmutableList.toImmutableList());
        boolean ours = session.stream()
                .anyMatch(stat -> found.contains(stat.pid())
                        || (end.isPresent()
                                && stat.startTicks() >= main.startTicks()
                                && stat.startTicks() < end.get().ticks()));
        if (ours) {
            session.forEach(stat -> found.add(stat.pid()));
        }
    }

    private static void addChildren(Map<Long, Stat> running, Set<Long> found) {
        boolean grown = true;
        while (grown) {
            grown = false;
            for (Stat stat : running.values()) {
                grown |= found.contains(stat.parent()) && found.add(stat.pid());
            }
        }
    }
}
