package io.homeostat.reconcile.agent.nomad;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcFs.Stat;
import io.homeostat.proto.nomad.driver.CPUUsage;
import io.homeostat.proto.nomad.driver.MemoryUsage;
import io.homeostat.proto.nomad.driver.TaskResourceUsage;
import io.homeostat.proto.nomad.driver.TaskStats;
import java.io.IOException;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What a task's process and its descendants use, from one look to the next. For one thread. */
final class TaskUsage {
    private static final double PERCENT = 100;

    private final ProcFs procFs;
    private final InstantSource clock;
    private final Ticker ticker;
    private Map<ProcFs.ProcessKey, Long> before = Map.of();
    private long lookedAt;

    TaskUsage(ProcFs procFs, InstantSource clock, Ticker ticker) {
        this.procFs = procFs;
        this.clock = clock;
        this.ticker = ticker;
        this.lookedAt = ticker.read();
    }

    /** Percents are of one core since the last look, and since their start for processes that were not there then. */
    TaskStats look(String taskId, ProcessIdentity main) throws IOException {
        long now = ticker.read();
        double nanos = Math.max(1, now - lookedAt);
        TaskStats.Builder stats =
                TaskStats.newBuilder().setId(taskId).setTimestamp(DrivenTask.timestamp(clock.instant()));
        Map<ProcFs.ProcessKey, Long> seen = new HashMap<>();
        double percent = 0;
        long resident = 0;
        for (Stat one : tree(main)) {
            long ticks = one.ownTicks();
            long used = ticks - before.getOrDefault(ProcFs.ProcessKey.of(one), before.isEmpty() ? ticks : 0L);
            double own = used * (double) ProcFs.NANOS_PER_TICK * PERCENT / nanos;
            long bytes = one.residentPages() * Libc.pageSize();
            stats.putResourceUsageByPid(Long.toString(one.pid()), usage(own, bytes));
            seen.put(ProcFs.ProcessKey.of(one), ticks);
            percent += own;
            resident += bytes;
        }
        before = seen;
        lookedAt = now;
        return stats.setAggResourceUsage(usage(percent, resident)).build();
    }

    private List<Stat> tree(ProcessIdentity main) throws IOException {
        Map<Long, List<Stat>> children = new HashMap<>();
        List<Stat> members = new ArrayList<>();
        Deque<Stat> open = new ArrayDeque<>();
        for (Stat one : procFs.processes()) {
            children.computeIfAbsent(one.parent(), pid -> new ArrayList<>()).add(one);
            if (one.is(main)) {
                open.add(one);
            }
        }
        while (!open.isEmpty()) {
            Stat one = open.remove();
            members.add(one);
            open.addAll(children.getOrDefault(one.pid(), List.of()));
        }
        return members;
    }

    private static TaskResourceUsage usage(double percent, long resident) {
        return TaskResourceUsage.newBuilder()
                .setCpu(CPUUsage.newBuilder().setPercent(percent).addMeasuredFields(CPUUsage.Fields.PERCENT))
                .setMemory(MemoryUsage.newBuilder().setRss(resident).addMeasuredFields(MemoryUsage.Fields.RSS))
                .build();
    }
}
