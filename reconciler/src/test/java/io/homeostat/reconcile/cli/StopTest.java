package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.runtime.timer.TimerKind;
import io.homeostat.reconcile.runtime.timer.Timers;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Stopping and starting what is no process. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class StopTest {
    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() {
        shell = new Shell(directory);
    }

    @AfterEach
    void leaveNothingBehind() {
        shell.close();
    }

    @Test
    void whatIsNoProcessIsAskedForInItsOwnWay() throws IOException {
        shell.write("tick.yaml", """
                apiVersion: homeostat.io/v1
                kind: Timer
                metadata: {name: tick}
                spec: {revision: '1', interval: 5s}
                """);
        WorkloadId tick = new WorkloadId(TimerKind.TIMER, "tick");
        assertEquals(0, shell.run("apply", "-f", directory + "/tick.yaml").status());
        assertEquals("", shell.run("stop", "timer/tick").err());
        assertEquals(0, shell.run("start", "timer/tick").status());
        String launchId = shell.instances().stream()
                .filter(instance -> instance.workload().equals(tick))
                .findFirst()
                .orElseThrow()
                .launchId();

        Timers.of(shell.layout().stateDir()).end(launchId);

        String told = shell.run("stop", "timer/tick").err();
        assertTrue(told.contains("timer/tick was not running"), told);
    }
}
