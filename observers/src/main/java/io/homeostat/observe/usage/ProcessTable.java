package io.homeostat.observe.usage;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.Multimaps;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcFs.ProcessKey;
import io.homeostat.observe.process.ProcFs.Stat;
import io.homeostat.observe.process.ProcessTree;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * All processes of the machine, read once for all workloads that are measured. Zombies are included: what they used is counted nowhere
 * else until somebody waits for them.
 *
 * <p>Membership follows the signs of {@link ProcessTree}, but less carefully: nobody is killed for it.
 */
final class ProcessTable {
    private final Reader reader;
    private final long readAt;
    private final String bootId;
    private final long uptimeTicks;
    private final ImmutableMap<Long, Stat> byPid;
    private final ImmutableListMultimap<Long, Stat> byParent;
    private final ImmutableListMultimap<Long, Stat> bySession;
    private final Map<Long, OptionalInt> users = new HashMap<>();

    private ProcessTable(Reader reader, long readAt, String bootId, long uptimeTicks, ImmutableMap<Long, Stat> byPid) {
        this.reader = reader;
        this.readAt = readAt;
        this.bootId = bootId;
        this.uptimeTicks = uptimeTicks;
        this.byPid = byPid;
        this.byParent = Multimaps.index(byPid.values(), Stat::parent);
        this.bySession = Multimaps.index(byPid.values(), Stat::session);
    }

    /**
     * Reads tables, one after another. A process never changes its mark, so its environment is read once, and only of users that are asked
     * for.
     *
     * <p>Used by one thread.
     */
    static final class Reader {
        private static final String UNMARKED = "";

        private final ProcFs procFs;
        private final Ticker ticker;
        private final Map<ProcessKey, String> marks = new HashMap<>();

        Reader(ProcFs procFs, Ticker ticker) {
            this.procFs = procFs;
            this.ticker = ticker;
        }

        ProcessTable read() throws IOException {
            String bootId = procFs.bootId();
            long uptimeTicks = procFs.uptimeTicks();
            long self = ProcessHandle.current().pid();
            Map<Long, Stat> found = new LinkedHashMap<>();
            for (Stat stat : procFs.table()) {
                if (stat.pid() != self) {
                    found.put(stat.pid(), stat);
                }
            }
            marks.keySet().removeIf(key -> {
                Stat stat = found.get(key.pid());
                return stat == null || !key.equals(ProcessKey.of(stat));
            });
            return new ProcessTable(this, ticker.read(), bootId, uptimeTicks, ImmutableMap.copyOf(found));
        }

        /** Only these processes, whatever their marks are. */
        ProcessTable read(Iterable<Long> pids) throws IOException {
            long uptimeTicks = procFs.uptimeTicks();
            ImmutableMap.Builder<Long, Stat> found = ImmutableMap.builder();
            for (long pid : pids) {
                procFs.stat(pid).ifPresent(stat -> found.put(pid, stat));
            }
            return new ProcessTable(this, ticker.read(), "", uptimeTicks, found.buildOrThrow());
        }

        private boolean mayHave(Stat stat, String launchId) {
            String known = marks.get(ProcessKey.of(stat));
            return known == null || known.equals(launchId);
        }

        private boolean has(Stat stat, String launchId) {
            return marks.computeIfAbsent(
                            ProcessKey.of(stat),
                            any -> procFs.launch(stat.pid()).orElse(UNMARKED))
                    .equals(launchId);
        }
    }

    /** When it was read, by the ticker, in nanoseconds. */
    long readAt() {
        return readAt;
    }

    /** The age of a process, in nanoseconds. */
    long age(Stat stat) {
        return (uptimeTicks - stat.startTicks()) * ProcFs.NANOS_PER_TICK;
    }

    /** The processes of a workload's launches, given the pids in its control groups. */
    ImmutableCollection<Stat> members(ImmutableList<Instance> launches, Iterable<Long> grouped) {
        Map<Long, Stat> found = new LinkedHashMap<>();
        Deque<Stat> next = new ArrayDeque<>();
        grouped.forEach(pid -> add(byPid.get(pid), next));
        for (Instance launch : launches) {
            ProcessIdentity main = launch.process();
            if (main == null || !main.bootId().equals(bootId)) {
                continue;
            }
            Stat process = byPid.get(main.pid());
            if (process != null && process.is(main)) {
                next.add(process);
                next.addAll(marked(launch, main));
                bySession.get(main.pid()).forEach(next::add);
            }
        }
        while (!next.isEmpty()) {
            Stat stat = next.remove();
            if (found.put(stat.pid(), stat) == null) {
                next.addAll(byParent.get(stat.pid()));
            }
        }
        return ImmutableList.copyOf(found.values());
    }

    /**
     * Of the user alone whose the main process is: in those of others anybody could have put the mark. Nothing that is older was started by
     * it.
     */
    private ImmutableList<Stat> marked(Instance launch, ProcessIdentity main) {
        OptionalInt user = user(main.pid());
        return user.isEmpty()
                ? ImmutableList.of()
                : byPid.values().stream()
                        .filter(stat -> stat.startTicks() >= main.startTicks())
                        .filter(stat -> reader.mayHave(stat, launch.launchId()))
                        .filter(stat -> user(stat.pid()).equals(user))
                        .filter(stat -> reader.has(stat, launch.launchId()))
                        .collect(ImmutableList.toImmutableList());
    }

    private OptionalInt user(long pid) {
        return users.computeIfAbsent(pid, reader.procFs::realUserId);
    }

    private static void add(@Nullable Stat stat, Deque<Stat> all) {
        if (stat != null) {
            all.add(stat);
        }
    }
}
