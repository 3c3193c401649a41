package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.homeostat.controlplane.FakeNotifySocket;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An agent that a service manager has started and waits for. */
final class BootTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void theAgentIsReadyWhenWhatIsBootCriticalRunsAndSaysWhenItEnds() throws IOException {
        Path socket = homeostat.file("empty", "").resolveSibling("notify");
        Document critical = Document.process("critical")
                .with("install", "local")
                .with("entryPoint", "/bin/sleep")
                .with("execution.bootCritical", true)
                .arguments("1000");
        homeostat.declare("critical.yaml", critical);
        try (FakeNotifySocket manager = new FakeNotifySocket(socket.toString())) {
            homeostat.environment("NOTIFY_SOCKET", socket.toString());
            AgentProcess agent = homeostat.startAgentProcess(AgentConfig.of(homeostat.desired()));

            assertEquals(Optional.of("READY=1"), manager.receive(Patience.LONGEST));
            long pid = homeostat.pid("process/critical");
            String environment =
                    Files.readString(Path.of("/proc", Long.toString(pid), "environ"), StandardCharsets.ISO_8859_1);
            assertFalse(environment.contains("NOTIFY_SOCKET"), environment);

            agent.terminate().exits(0);
            assertEquals(Optional.of("STOPPING=1"), manager.receive(Patience.LONGEST));
        }
    }

    @Test
    void aServiceManagerWithAWatchdogHearsThatTheLoopGoesRound() throws IOException {
        Path socket = homeostat.file("empty", "").resolveSibling("notify");
        try (FakeNotifySocket manager = new FakeNotifySocket(socket.toString())) {
            homeostat.environment("NOTIFY_SOCKET", socket.toString());
            homeostat.environment("WATCHDOG_USEC", "500000");
            Agent agent = homeostat.startAgent(AgentConfig.of(homeostat.desired()));

            assertEquals(Optional.of("READY=1"), manager.receive(Patience.LONGEST));
            assertEquals(Optional.of("WATCHDOG=1"), manager.receive(Patience.LONGEST));
            assertEquals(Optional.of("WATCHDOG=1"), manager.receive(Patience.LONGEST));

            agent.terminate().exits(0);
        }
    }
}
