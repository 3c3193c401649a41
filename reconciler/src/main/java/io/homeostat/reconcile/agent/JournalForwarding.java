package io.homeostat.reconcile.agent;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.AgentConfig.Log.Target;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StoreException;
import io.homeostat.observe.process.UnixDatagram;
import io.homeostat.observe.process.UserMounts;
import io.homeostat.reconcile.command.LogFile;
import io.homeostat.reconcile.command.LogLineStream;
import io.homeostat.reconcile.command.LogsCommand;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.output.Text;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies what workloads write, their logs of errors included, to systemd's journal (https://systemd.io/JOURNAL_NATIVE_PROTOCOL), line by
 * line, beside their logs. What was written before the agent began to copy, or while none ran, is in the logs only. A journal that takes nothing holds nobody up: it is waited
 * for a moment, then lines are left out until it takes one again. What rotation gives up before a slow journal has taken it is left out, too.
 */
final class JournalForwarding implements AutoCloseable {
    static final Duration PAUSE = Duration.ofMillis(500);

    private static final Logger LOG = LoggerFactory.getLogger(JournalForwarding.class);
    private static final Duration PATIENCE = Duration.ofSeconds(1);
    private static final Duration MOMENT = Duration.ofMillis(20);

    /** How much of one log is copied before it is the next one's turn. */
    static final long BYTES_A_ROUND = 256 << 10;

    private final Layout layout;
    private final StateReader store;
    private final Supplier<AgentConfig> config;
    private final String socket;
    private final Duration pause;
    private final Map<Path, Forwarded> open = new TreeMap<>();

    /** Logs that were there when copying began, and could not be read yet: what is in them is old. */
    private final Set<Path> old = new HashSet<>();

    private final PeriodicTasks tasks = new PeriodicTasks("journal");
    private boolean copying;
    private boolean taken = true;

    /** How many lines were left out because the journal took none. */
    private long leftOut;

    /** Why the journal takes nothing; empty while it does. */
    private volatile String problem = "";

    /** How many bytes of a workload's logs were given up before the journal had taken them; until all that there is has been copied. */
    private final Map<WorkloadId, Long> givenUp = new ConcurrentSkipListMap<>();

    /** What is read of a log, and the line that it has begun. */
    private record Forwarded(LogFile log, LogLineStream lines) {}

    /**
     * @param config says at each round whether this is wanted
     * @param socket where the journal listens
     * @param pause between two rounds
     */
    JournalForwarding(Layout layout, StateReader store, Supplier<AgentConfig> config, String socket, Duration pause) {
        this.layout = layout;
        this.store = store;
        this.config = config;
        this.socket = socket;
        this.pause = pause;
    }

    /** Does what the configuration says from now on; returns when it is known what has been written before. */
    void use() {
        boolean more = false;
        try {
            more = copy();
        } catch (StoreException e) {
            LOG.error("{}; what workloads write is copied to the journal later", e.getMessage());
        } finally {
            if (isWanted()) {
                tasks.instead(more ? Duration.ZERO : pause, "copying to the journal", this::use);
            }
        }
    }

    /** What people have to know of it; empty when nothing is wrong. */
    ImmutableList<String> problems() {
        if (!isWanted()) {
            return ImmutableList.of();
        }
        String now = problem;
        return Stream.concat(
                        Stream.of(now).filter(why -> !why.isEmpty()),
                        givenUp.entrySet().stream().map(one -> tooSlow(one.getKey(), one.getValue())))
                .collect(ImmutableList.toImmutableList());
    }

    private static String tooSlow(WorkloadId id, long bytes) {
        return "the journal is slower than " + id.brief() + " writes; " + Text.bytes(bytes)
                + " were given up before it had taken them, because limits.logBytesPerWorkload holds no more";
    }

    private boolean isWanted() {
        return config.get().log().target() == Target.JOURNAL;
    }

    /** True when there is more to copy already. */
    private synchronized boolean copy() {
        if (!isWanted()) {
            closeAll();
            return false;
        }
        Map<Path, WorkloadId> logs = new TreeMap<>();
        for (WorkloadId id : workloads()) {
            LogsCommand.files(id, layout).forEach(log -> logs.put(log, id));
        }
        if (!copying) {
            old.addAll(logs.keySet());
            copying = true;
        }
        Set<WorkloadId> behind = new HashSet<>();
        Set<WorkloadId> later = new HashSet<>();
        for (Map.Entry<Path, WorkloadId> log : logs.entrySet()) {
            try {
                UserMounts.check(layout, log.getValue());
                Forwarded forwarded = open.get(log.getKey());
                if (forwarded == null) {
                    forwarded = begun(log.getKey(), log.getValue());
                    open.put(log.getKey(), forwarded);
                }
                switch (forwarded.log().copyTo(forwarded.lines(), BYTES_A_ROUND)) {
                    case ENOUGH -> behind.add(log.getValue());
                    case NOT_ALL -> later.add(log.getValue());
                    case ALL -> {
                        // The next round looks whether there is more.
                    }
                }
                tellOfLoss(log.getValue(), forwarded.log().givenUp());
            } catch (IOException | CommandFailure e) {
                LOG.debug(
                        "{} of {} could not be read",
                        log.getKey(),
                        log.getValue().brief(),
                        e);
                later.add(log.getValue());
            }
        }
        open.entrySet().removeIf(entry -> {
            boolean gone = !logs.containsKey(entry.getKey());
            if (gone) {
                end(entry.getValue());
            }
            return gone;
        });
        old.retainAll(logs.keySet());
        tellWhoHasCaughtUp(Sets.union(behind, later));
        return !behind.isEmpty();
    }

    /** In the agent's log once, until all is copied: a journal that is too slow is so for long. */
    private void tellOfLoss(WorkloadId id, long bytes) {
        if (bytes > 0 && givenUp.merge(id, bytes, Long::sum) == bytes) {
            LOG.warn("{}", tooSlow(id, bytes));
        }
    }

    /** @param behind those of which there may be more than has been copied */
    private void tellWhoHasCaughtUp(Set<WorkloadId> behind) {
        givenUp.entrySet().removeIf(one -> {
            boolean over = !behind.contains(one.getKey());
            if (over) {
                LOG.info(
                        "the journal has all of {} again, except {} that were given up",
                        one.getKey().brief(),
                        Text.bytes(one.getValue()));
            }
            return over;
        });
    }

    private Forwarded begun(Path path, WorkloadId id) throws IOException {
        LogFile log = new LogFile(path);
        if (old.contains(path)) {
            log.skipToEnd();
            old.remove(path);
        }
        return new Forwarded(log, new LogLineStream(line -> send(id, line)));
    }

    private ImmutableSet<WorkloadId> workloads() {
        return Stream.concat(
                        store.declarations().stream()
                                .map(declaration -> declaration.workload().id()),
                        store.instances().stream().map(instance -> instance.workload()))
                .collect(ImmutableSet.toImmutableSet());
    }

    private void send(WorkloadId id, String line) {
        // Encoded: a name that a message carried may have line breaks, and they would begin another field.
        String workload = id.brief();
        String name = workload.substring(workload.indexOf('/') + 1);
        JournalEntry said = JournalEntry.of(line);
        String entry = "PRIORITY=" + said.priority() + "\nSYSLOG_IDENTIFIER=" + name + "\nHOMEOSTAT_WORKLOAD="
                + workload + "\nMESSAGE=" + said.message() + "\n";
        long moments = taken ? PATIENCE.dividedBy(MOMENT) : 0;
        while (true) {
            try {
                UnixDatagram.send(socket, entry);
                if (!taken) {
                    LOG.info("the journal takes the output of workloads again; {} lines were left out", leftOut);
                }
                leftOut = 0;
                taken = true;
                problem = "";
                return;
            } catch (IOException e) {
                if (moments-- <= 0) {
                    if (taken) {
                        problem = "the journal does not take the output of workloads, which is in their logs: "
                                + e.getMessage();
                        LOG.warn(problem);
                    }
                    taken = false;
                    leftOut++;
                    return;
                }
            }
            try {
                Thread.sleep(MOMENT);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    /** Of a workload that is gone: what it wrote last is copied. */
    private void end(Forwarded gone) {
        try (LogFile log = gone.log()) {
            LogFile.Copied _ = log.copyTo(gone.lines(), BYTES_A_ROUND);
            gone.lines().flush();
        } catch (IOException | CommandFailure e) {
            LOG.debug("the end of a log could not be read", e);
        }
    }

    private void closeAll() {
        for (Forwarded forwarded : open.values()) {
            try {
                forwarded.log().close();
            } catch (IOException e) {
                LOG.debug("a log could not be closed", e);
            }
        }
        open.clear();
        old.clear();
        givenUp.clear();
        copying = false;
    }

    @Override
    public void close() {
        tasks.close();
        synchronized (this) {
            closeAll();
        }
    }
}
