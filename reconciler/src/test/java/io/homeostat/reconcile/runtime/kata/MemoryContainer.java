package io.homeostat.reconcile.runtime.kata;

import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.LinuxResources;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A container of a {@link MemoryAgent}. */
final class MemoryContainer {
    private static final int KILLED = 137;

    private final String id;
    private final MemoryProcess first;
    private final Map<String, MemoryProcess> processes = new ConcurrentHashMap<>();
    private LinuxResources resources;
    private boolean started;
    private boolean paused;
    private boolean freed;
    private Consumer<CgroupStats.Builder> statistics = stats -> {};

    MemoryContainer(CreateContainerRequest request) {
        this.id = request.getContainerId();
        this.first = new MemoryProcess(request.getOCI().getProcess());
        this.resources = request.getOCI().getLinux().getResources();
        processes.put(id, first);
    }

    MemoryProcess first() {
        return first;
    }

    Map<String, MemoryProcess> processes() {
        return processes;
    }

    /** The only process beside the first one. */
    MemoryProcess command() {
        return processes.entrySet().stream()
                .filter(one -> !one.getKey().equals(id))
                .map(Map.Entry::getValue)
                .findFirst()
                .orElseThrow();
    }

    @Nullable
    MemoryProcess process(String exec) {
        return processes.get(exec);
    }

    void kill() {
        processes.values().forEach(process -> process.exit(KILLED));
        first.exit(KILLED);
    }

    synchronized void start() {
        started = true;
    }

    synchronized void pause(boolean stops) {
        paused = stops;
    }

    synchronized boolean isPaused() {
        return paused;
    }

    /** Somebody has looked at the pipe that a start waits at. */
    synchronized void free() {
        freed = true;
    }

    synchronized boolean isFreed() {
        return freed;
    }

    synchronized void update(LinuxResources next) {
        resources = resources.toBuilder().mergeFrom(next).build();
    }

    /** Makes its agent count something else. */
    synchronized void count(Consumer<CgroupStats.Builder> change) {
        statistics = change;
    }

    synchronized CgroupStats statistics() {
        long running =
                processes.values().stream().filter(MemoryProcess::isRunning).count();
        CgroupStats.Builder stats = CgroupStats.newBuilder();
        stats.getPidsStatsBuilder().setCurrent(started ? running : 0);
        stats.getPidsStatsBuilder().setLimit(resources.getPids().getLimit());
        stats.getMemoryStatsBuilder()
                .getUsageBuilder()
                .setLimit(resources.getMemory().getLimit());
        statistics.accept(stats);
        return stats.build();
    }
}
