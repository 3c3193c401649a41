package io.homeostat.sample.driver;

import io.homeostat.proto.nomad.driver.CPUUsage;
import io.homeostat.proto.nomad.driver.MemoryUsage;
import io.homeostat.proto.nomad.driver.TaskResourceUsage;
import io.homeostat.proto.nomad.driver.TaskStats;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a task's processes use, from one look to the next. */
final class Usage {
    private static final double MILLIS_PER_TICK = 10;
    private static final double PERCENT = 100;

    private final Task task;
    private final Clock clock;
    private Map<Long, Proc> former = Map.of();
    private @Nullable Instant formerly;

    Usage(Task task, Clock clock) {
        this.task = task;
        this.clock = clock;
    }

    /** Percents are of one core since the last look; 0 the first time. */
    TaskStats look() {
        Instant now = clock.instant();
        List<Proc> members = task.processes().members();
        double millis = formerly == null ? 0 : Duration.between(formerly, now).toMillis();
        TaskStats.Builder stats =
                TaskStats.newBuilder().setId(task.config().getId()).setTimestamp(Task.timestamp(now));
        Map<Long, Proc> seen = new HashMap<>();
        double user = 0;
        double system = 0;
        long resident = 0;
        for (Proc one : members) {
            Proc before = former.get(one.pid());
            double ownUser = percent(one.userTicks() - (before == null ? 0 : before.userTicks()), millis);
            double ownSystem = percent(one.systemTicks() - (before == null ? 0 : before.systemTicks()), millis);
            long ownResident = one.residentBytes();
            stats.putResourceUsageByPid(Long.toString(one.pid()), usage(ownUser, ownSystem, ownResident));
            seen.put(one.pid(), one);
            user += ownUser;
            system += ownSystem;
            resident += ownResident;
        }
        former = seen;
        formerly = now;
        return stats.setAggResourceUsage(usage(user, system, resident)).build();
    }

    private static double percent(long ticks, double millis) {
        return millis <= 0 ? 0 : ticks * MILLIS_PER_TICK * PERCENT / millis;
    }

    private static TaskResourceUsage usage(double user, double system, long resident) {
        return TaskResourceUsage.newBuilder()
                .setCpu(CPUUsage.newBuilder()
                        .setUserMode(user)
                        .setSystemMode(system)
                        .setPercent(user + system)
                        .addMeasuredFields(CPUUsage.Fields.SYSTEM_MODE)
                        .addMeasuredFields(CPUUsage.Fields.USER_MODE)
                        .addMeasuredFields(CPUUsage.Fields.PERCENT))
                .setMemory(MemoryUsage.newBuilder().setRss(resident).addMeasuredFields(MemoryUsage.Fields.RSS))
                .build();
    }
}
