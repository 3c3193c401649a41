package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.usage.UsageReport;
import io.homeostat.observe.usage.UsageReport.Usage;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A running agent samples what real processes use. */
class AgentUsageTest {
    private static final WorkloadId BUSY = WorkloadId.process("busy");
    private static final WorkloadId IDLE = WorkloadId.process("idle");

    private final AgentBench bench = new AgentBench();

    @AfterEach
    void close() throws IOException {
        bench.close();
    }

    /** The work is done by a child of the main process. Bounds are wide: other tests want the processors, too. */
    @Test
    void whoWorksAndWhoSleepsAreToldApartAndForgottenWhenTheyAreGone() {
        bench.write("busy.yaml", sampled("busy", "/bin/sh", "[-c, 'sh -c \"while :; do :; done\"; true']"));
        bench.write("idle.yaml", sampled("idle", "/bin/sleep", "['600']"));
        Agent agent = bench.start("1h", true);

        await().atMost(AgentBench.PATIENCE).until(() -> used(agent, BUSY) > 5 && used(agent, IDLE) >= 0);
        Usage busy = agent.usage().latest(BUSY).orElseThrow();
        Usage idle = agent.usage().latest(IDLE).orElseThrow();
        assertTrue(busy.cpuPercent() < 400, busy.toString());
        assertTrue(idle.cpuPercent() < 25, idle.toString());
        assertTrue(busy.memoryBytes() > 100_000 && busy.memoryBytes() < 1_000_000_000, busy.toString());
        assertTrue(idle.memoryBytes() > 100_000 && idle.memoryBytes() < 1_000_000_000, idle.toString());

        UsageReport report = agent.usage().report();
        assertTrue(report.samples().get(IDLE).size() <= 3, "no more than maxDatapoints");
        ImmutableList<Usage> samples = report.samples().get(BUSY);
        assertEquals(
                samples,
                samples.stream()
                        .sorted((one, other) -> one.at().compareTo(other.at()))
                        .toList());

        bench.delete("busy.yaml");
        bench.awaitNone(BUSY);
        await().atMost(AgentBench.PATIENCE).until(() -> agent.usage().latest(BUSY), Optional::isEmpty);
        await().atMost(AgentBench.PATIENCE)
                .until(() -> agent.usage().report().samples().get(BUSY), List::isEmpty);
    }

    private static double used(Agent agent, WorkloadId id) {
        return agent.usage().latest(id).map(Usage::cpuPercent).orElse(-1.0);
    }

    private static String sampled(String name, String program, String arguments) {
        return """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec:
                  install: local
                  entryPoint: %s
                  arguments: %s
                  metrics: {interval: 500ms, maxDatapoints: 3}
                """.formatted(name, program, arguments);
    }
}
