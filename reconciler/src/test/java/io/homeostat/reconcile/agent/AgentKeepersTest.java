package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who keeps a launch is a child of the agent. */
class AgentKeepersTest {
    private static final WorkloadId ID = WorkloadId.process("kept");

    private final AgentBench bench = new AgentBench();

    @AfterEach
    void close() throws IOException {
        bench.close();
    }

    @Test
    void noKeeperOfACrashedProcessStaysInTheTableOfProcesses() throws IOException {
        bench.write("kept.yaml", AgentBench.sleeper("kept", 600));
        bench.start("1h", true);
        ProcessIdentity first = bench.running(ID);
        long keeper = new ProcFs().stat(first.pid()).orElseThrow().parent();

        AgentBench.kill(first);

        bench.runningAfter(ID, first);
        await().atMost(AgentBench.PATIENCE).until(() -> Files.notExists(Path.of("/proc", Long.toString(keeper))));
    }
}
