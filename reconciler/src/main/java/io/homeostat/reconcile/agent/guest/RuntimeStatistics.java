package io.homeostat.reconcile.agent.guest;

import com.fasterxml.jackson.databind.JsonNode;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.CpuStats;
import io.homeostat.proto.kata.CpuUsage;
import io.homeostat.proto.kata.MemoryData;
import io.homeostat.proto.kata.MemoryStats;
import io.homeostat.proto.kata.PidsStats;
import io.homeostat.proto.kata.ThrottlingData;

/** What {@code runc events --stats} tells of a container, as an agent tells it. */
final class RuntimeStatistics {
    private RuntimeStatistics() {}

    static CgroupStats of(JsonNode data) {
        JsonNode cpu = data.path("cpu");
        JsonNode usage = cpu.path("usage");
        CpuUsage.Builder processors = CpuUsage.newBuilder()
                .setTotalUsage(usage.path("total").asLong())
                .setUsageInKernelmode(usage.path("kernel").asLong())
                .setUsageInUsermode(usage.path("user").asLong());
        usage.path("percpu").forEach(one -> processors.addPercpuUsage(one.asLong()));
        JsonNode throttling = cpu.path("throttling");
        JsonNode memory = data.path("memory");
        MemoryStats.Builder stats = MemoryStats.newBuilder()
                .setCache(memory.path("cache").asLong())
                .setUsage(memory(memory.path("usage")))
                .setSwapUsage(memory(memory.path("swap")))
                .setKernelUsage(memory(memory.path("kernel")));
        memory.path("raw")
                .properties()
                .forEach(one -> stats.putStats(one.getKey(), one.getValue().asLong()));
        return CgroupStats.newBuilder()
                .setCpuStats(CpuStats.newBuilder()
                        .setCpuUsage(processors)
                        .setThrottlingData(ThrottlingData.newBuilder()
                                .setPeriods(throttling.path("periods").asLong())
                                .setThrottledPeriods(
                                        throttling.path("throttledPeriods").asLong())
                                .setThrottledTime(
                                        throttling.path("throttledTime").asLong())))
                .setMemoryStats(stats)
                .setPidsStats(PidsStats.newBuilder()
                        .setCurrent(data.path("pids").path("current").asLong())
                        .setLimit(data.path("pids").path("limit").asLong()))
                .build();
    }

    private static MemoryData memory(JsonNode json) {
        return MemoryData.newBuilder()
                .setUsage(json.path("usage").asLong())
                .setMaxUsage(json.path("max").asLong())
                .setFailcnt(json.path("failcnt").asLong())
                // On version 2 of control groups it is 2^64 - 1 where there is none.
                .setLimit(json.path("limit").bigIntegerValue().longValue())
                .build();
    }
}
