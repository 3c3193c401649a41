package io.homeostat.observe.process;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Multimaps;
import io.homeostat.observe.process.ProcFs.Stat;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * All processes at the moment of a look, without zombies and without ourselves: an agent that was itself started by a workload is no part
 * of what it watches and stops.
 */
public final class RunningProcesses {
    private final ImmutableMap<Long, Stat> byPid;
    private final LongFunction<Optional<String>> environment;
    private final ConcurrentMap<Long, Optional<String>> marks = new ConcurrentHashMap<>();
    private final ImmutableListMultimap<Long, Stat> byParent;
    private final ImmutableListMultimap<Long, Stat> bySession;

    /** @param environment the launch that a process's environment names, by pid; asked when that matters, and once */
    RunningProcesses(Iterable<Stat> running, LongFunction<Optional<String>> environment) {
        ImmutableMap.Builder<Long, Stat> numbered = ImmutableMap.builder();
        for (Stat stat : running) {
            numbered.put(stat.pid(), stat);
        }
        // A directory that changes while it is read may list a name twice.
        this.byPid = numbered.buildKeepingLast();
        this.environment = environment;
        this.byParent = Multimaps.index(byPid.values(), Stat::parent);
        this.bySession = Multimaps.index(byPid.values(), Stat::session);
    }

    @Nullable
    Stat of(long pid) {
        return byPid.get(pid);
    }

    Optional<String> mark(long pid) {
        return marks.computeIfAbsent(pid, environment::apply);
    }

    /** Those with a launch's mark that are not older than this, in ticks since boot. */
    ImmutableList<Stat> marked(String launchId, long since) {
        return byPid.values().stream()
                .filter(stat -> stat.startTicks() >= since
                        && mark(stat.pid()).filter(launchId::equals).isPresent())
                .collect(ImmutableList.toImmutableList());
    }

    ImmutableList<Stat> session(long session) {
        return bySession.get(session);
    }

    ImmutableList<Stat> children(long parent) {
        return byParent.get(parent);
    }
}
