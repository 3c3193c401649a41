package io.homeostat.observe.process;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Multimaps;
import io.homeostat.observe.process.ProcFs.Stat;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * All processes at the moment of a look, without zombies and without ourselves: an agent that was itself started by a workload is no part
 * of what it watches and stops.
 */
public final class RunningProcesses {
    private final ImmutableMap<Long, Stat> byPid;
    private final ImmutableMap<Long, String> marks;
    private final ImmutableListMultimap<Long, Stat> byParent;
    private final ImmutableListMultimap<Long, Stat> bySession;
    private final ImmutableListMultimap<String, Stat> byLaunch;

    /** @param marks the launch that each process's environment names, by pid */
    RunningProcesses(Iterable<Stat> running, ImmutableMap<Long, String> marks) {
        ImmutableMap.Builder<Long, Stat> numbered = ImmutableMap.builder();
        ImmutableListMultimap.Builder<String, Stat> launched = ImmutableListMultimap.builder();
        for (Stat stat : running) {
            numbered.put(stat.pid(), stat);
            String mark = marks.get(stat.pid());
            if (mark != null) {
                launched.put(mark, stat);
            }
        }
        // A directory that changes while it is read may list a name twice.
        this.byPid = numbered.buildKeepingLast();
        this.marks = marks;
        this.byParent = Multimaps.index(byPid.values(), Stat::parent);
        this.bySession = Multimaps.index(byPid.values(), Stat::session);
        this.byLaunch = launched.build();
    }

    @Nullable
    Stat of(long pid) {
        return byPid.get(pid);
    }

    Optional<String> mark(long pid) {
        return Optional.ofNullable(marks.get(pid));
    }

    ImmutableList<Stat> marked(String launchId) {
        return byLaunch.get(launchId);
    }

    ImmutableList<Stat> session(long session) {
        return bySession.get(session);
    }

    ImmutableList<Stat> children(long parent) {
        return byParent.get(parent);
    }
}
