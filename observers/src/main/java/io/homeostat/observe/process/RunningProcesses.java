package io.homeostat.observe.process;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Multimaps;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.ProcFs.ProcessKey;
import io.homeostat.observe.process.ProcFs.Stat;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * All processes at the moment of a look, without zombies and without ourselves: an agent that was itself started by a workload is no part
 * of what it watches and stops.
 */
public final class RunningProcesses {
    /** In ticks of {@link ProcFs#NANOS_PER_TICK}: 10 s. */
    private static final long OLD = 1000;

    /** Starts the threads of the kernel. */
    private static final long KTHREADD = 2;

    /** Reads which launch's mark the environment has with which a process's program was executed. */
    interface Environments {
        /** As {@link ProcFs#wasStartedBy}. */
        boolean wasStartedBy(int uid, long pid) throws IOException;

        /**
         * Empty when it has none.
         *
         * @param user for whose workload it is read
         * @throws ProcessMemory.Unanswered when the process keeps its memory
         * @throws IOException when the environment can't be read, or is not whole at the moment
         */
        Optional<String> mark(int user, ProcessKey process) throws IOException;
    }

    private final ImmutableMap<Long, Stat> byPid;
    private final Environments environments;
    private final ConcurrentMap<ProcessKey, Optional<String>> marksSeen;
    private final long now;

    /** Another user's, for one who is not root, and of the kernel itself: not read again by all who share this look. */
    private final Set<ProcessKey> unreadable = ConcurrentHashMap.newKeySet();

    /** The unreadable processes that were just being executed, or have no environment at all. */
    private final Set<ProcessKey> executed = ConcurrentHashMap.newKeySet();

    /** The processes that keep their memory, or are not asked as others do: with those. */
    private final ConcurrentMap<ProcessKey, ImmutableSet<ProcessKey>> silent = new ConcurrentHashMap<>();

    private final ImmutableListMultimap<Long, Stat> byParent;
    private final ImmutableListMultimap<Long, Stat> bySession;

    /**
     * @param marksSeen in old processes by earlier looks and, from now on, by this one; forgets what no longer runs
     * @param now when the look began, in ticks since boot
     */
    RunningProcesses(
            Iterable<Stat> running,
            Environments environments,
            ConcurrentMap<ProcessKey, Optional<String>> marksSeen,
            long now) {
        this.now = now;
        ImmutableMap.Builder<Long, Stat> numbered = ImmutableMap.builder();
        for (Stat stat : running) {
            numbered.put(stat.pid(), stat);
        }
        // A directory that changes while it is read may list a name twice.
        this.byPid = numbered.buildKeepingLast();
        this.environments = environments;
        this.marksSeen = marksSeen;
        this.byParent = Multimaps.index(byPid.values(), Stat::parent);
        this.bySession = Multimaps.index(byPid.values(), Stat::session);
        marksSeen.keySet().removeIf(key -> {
            Stat stat = byPid.get(key.pid());
            return stat == null || stat.startTicks() != key.startTicks();
        });
    }

    @Nullable
    Stat of(long pid) {
        return byPid.get(pid);
    }

    /**
     * The launch whose mark it has; empty when it has none, or that can't be read.
     *
     * @param user for whose workload it is looked at
     */
    Optional<String> mark(int user, Stat stat) {
        ProcessKey key = ProcessKey.of(stat);
        if (unreadable.contains(key) || silent.containsKey(key)) {
            return Optional.empty();
        }
        try {
            Optional<String> mark = environments.mark(user, key);
            if (now - stat.startTicks() > OLD) {
                marksSeen.put(key, mark);
            }
            return mark;
        } catch (ProcessMemory.Unanswered e) {
            Optional<String> seen = marksSeen.get(key);
            if (seen != null) {
                return seen;
            }
            silent.put(key, e.holders());
            return Optional.empty();
        } catch (IOException e) {
            unreadable.add(key);
            // Another user's can't be opened; a thread of the kernel has no environment at any time.
            if (!(e instanceof FileSystemException) && stat.pid() != KTHREADD && stat.parent() != KTHREADD) {
                executed.add(key);
            }
            return Optional.empty();
        }
    }

    /** Whether there is no answer to {@link #mark} because the process keeps its memory. */
    boolean isSilent(Stat stat) {
        return silent.containsKey(ProcessKey.of(stat));
    }

    /** Those that have to end before it can be known which mark this one has, where {@link #isSilent}. */
    ImmutableSet<ProcessKey> holders(Stat stat) {
        return silent.getOrDefault(ProcessKey.of(stat), ImmutableSet.of());
    }

    /** Those of a user that the main process may have started, and that keep their memory. */
    ImmutableList<Stat> silent(@Nullable ProcessIdentity main, int uid) {
        return byPid.values().stream()
                .filter(this::isSilent)
                .filter(stat -> main == null || stat.startTicks() >= main.startTicks())
                .filter(stat -> wasStartedBy(uid, stat))
                .collect(ImmutableList.toImmutableList());
    }

    /** Whether a process that this one may have started was just being executed, so that no look could tell whose it is. */
    boolean mayHide(@Nullable ProcessIdentity main) {
        return executed.stream().anyMatch(key -> main == null || key.startTicks() >= main.startTicks());
    }

    /**
     * Those of a user that have a launch's mark: of others anybody could have given it to them. With thousands of processes most of the time of a look would go into reading their environments,
     * so an environment in which no mark, or another launch's, was seen is not read again once its process is old. A descendant of the
     * main process has the mark from when it was forked, or soon after when it is executed, however it looked in between.
     *
     * @param main null when it is not known: then all are read
     */
    ImmutableList<Stat> marked(String launchId, @Nullable ProcessIdentity main, int uid) {
        return byPid.values().stream()
                .filter(stat -> main == null || mayHave(launchId, stat, main))
                .filter(stat -> wasStartedBy(uid, stat))
                .filter(stat -> mark(uid, stat).filter(launchId::equals).isPresent())
                .collect(ImmutableList.toImmutableList());
    }

    private boolean wasStartedBy(int uid, Stat stat) {
        try {
            return environments.wasStartedBy(uid, stat.pid());
        } catch (IOException e) {
            // It has ended.
            return false;
        }
    }

    private boolean mayHave(String launchId, Stat stat, ProcessIdentity main) {
        // Nothing that is older was started by it.
        if (stat.startTicks() < main.startTicks()) {
            return false;
        }
        Optional<String> seen = marksSeen.get(ProcessKey.of(stat));
        return seen == null || seen.filter(launchId::equals).isPresent();
    }

    /** Whether a process is this one, a descendant of it, or in the session that it leads; false when it does not run. */
    boolean comesOf(Stat stat, ProcessIdentity main) {
        Stat running = byPid.get(main.pid());
        if (running == null || !running.is(main)) {
            return false;
        }
        return withAncestors(stat).contains(running) || stat.session() == main.pid();
    }

    /** A process, its parent, that one's parent, and so on, as far as they run. */
    ImmutableSet<Stat> withAncestors(Stat stat) {
        // Numbers are read one after another: two of them could be each other's parents.
        Set<Stat> found = new LinkedHashSet<>();
        for (Stat next = stat; next != null && found.add(next); next = byPid.get(next.parent())) {
            // What is added is all there is to do.
        }
        return ImmutableSet.copyOf(found);
    }

    ImmutableList<Stat> session(long session) {
        return bySession.get(session);
    }

    ImmutableList<Stat> children(long parent) {
        return byParent.get(parent);
    }
}
