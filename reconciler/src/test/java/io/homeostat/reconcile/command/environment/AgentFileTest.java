package io.homeostat.reconcile.command.environment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AgentFileTest {
    private static final ProcFs PROC = new ProcFs();

    @TempDir
    private Path directory;

    @Test
    void anAgentRunsOnItsDirectoryWhereverThatIsMovedAndNotOnACopy() throws IOException {
        Layout layout = at("original");
        AgentFile agent = AgentFile.ofThisProcess(directory.resolve("agent.sock"), "1", PROC);
        Files.createDirectory(layout.stateDir());
        agent.write(layout);
        Layout copy = at("copy");
        Files.createDirectory(copy.stateDir());
        Files.copy(layout.agentFile(), copy.agentFile());

        assertEquals(Optional.of(agent), AgentFile.running(layout, PROC));
        assertEquals(Optional.empty(), AgentFile.running(copy, PROC));

        Layout moved = at("moved");
        Files.move(layout.stateDir(), moved.stateDir());
        assertEquals(Optional.of(agent), AgentFile.running(moved, PROC));
    }

    @Test
    void noneIsLookedForWhereSomebodyElseCouldSayThatOneRuns() throws IOException {
        assumeTrue(TrustedPath.isRoot(), "only root can give files away");
        Layout layout = at("state");
        Files.createDirectory(layout.stateDir());
        AgentFile.ofThisProcess(directory.resolve("agent.sock"), "1", PROC).write(layout);
        Files.setAttribute(layout.stateDir(), "unix:uid", 65534);

        assertThrows(IOException.class, () -> AgentFile.running(layout, PROC));
    }

    private Layout at(String name) {
        return new Layout(directory.resolve(name), directory.resolve("run"), "i");
    }
}
