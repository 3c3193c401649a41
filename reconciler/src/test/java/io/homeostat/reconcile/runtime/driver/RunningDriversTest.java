package io.homeostat.reconcile.runtime.driver;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.reconcile.runtime.DriverMachine;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Absent;
import io.homeostat.reconcile.runtime.driver.RunningDrivers.Running;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests which launch of a driver is asked, and what is known of a driver that cannot be asked. */
class RunningDriversTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir
    Path root;

    private DriverMachine host;
    private RunningDrivers drivers;

    @BeforeEach
    void open() throws Exception {
        host = new DriverMachine(root);
        drivers = new RunningDrivers(host.machine);
    }

    @AfterEach
    void close() throws Exception {
        host.close();
    }

    private boolean isKnownThoughAbsent() {
        return assertThrows(Absent.class, () -> drivers.running(DriverMachine.RUNNER, LONG))
                .isKnown();
    }

    private static Instance launched(Instance instance, Instant at, Phase phase, boolean hasProcess) {
        return new Instance(
                instance.launchId(),
                instance.workload(),
                instance.target(),
                instance.revision(),
                null,
                instance.inputs(),
                at,
                hasProcess ? instance.process() : null,
                phase,
                "");
    }

    private void remember(@Nullable Instance only) {
        if (only == null) {
            host.forget(DriverMachine.RUNNER);
        } else {
            host.remember(only);
        }
    }

    @Test
    void aDriverThatWasSetUpIsTakenUpAgain() throws Exception {
        Running running = drivers.running(DriverMachine.RUNNER, LONG);

        assertEquals(host.runner(), running.instance());
        assertEquals(1, host.driver.count("Init"));
        assertEquals(0, host.driver.count("SetConfig"));
        assertEquals(running.session(), drivers.session(DriverMachine.RUNNER, LONG));
    }

    @Test
    void whatItTellsIsHeardWhereSomebodyTakesIt() throws Exception {
        host.machine.drivers().hearEvents();

        drivers.session(DriverMachine.RUNNER, LONG);

        await().atMost(LONG).until(() -> host.driver.listeners() == 1);
    }

    @Test
    void theLatestLaunchThatWasSetUpIsTheDriver() {
        Instance first = launched(DriverMachine.runner("first"), DriverMachine.START, Phase.STARTED, true);
        Instance second =
                launched(DriverMachine.runner("second"), DriverMachine.START.plusSeconds(1), Phase.STARTED, true);
        Instance third =
                launched(DriverMachine.runner("third"), DriverMachine.START.plusSeconds(2), Phase.CREATED, true);
        host.remember(second, first, third);

        assertEquals(Optional.of(second), drivers.launch(DriverMachine.RUNNER));
    }

    @Test
    void aDriverOfWhichNothingIsThereIsNotKnown() {
        remember(null);

        assertFalse(isKnownThoughAbsent());
        assertEquals(Optional.empty(), drivers.launch(DriverMachine.RUNNER));
    }

    @Test
    void betweenTwoLaunchesADriverIsKnownByItsDirectory() throws Exception {
        remember(null);
        Files.createDirectories(host.layout.workloadState(DriverMachine.RUNNER));

        assertTrue(isKnownThoughAbsent());
    }

    @Test
    void aDriverThatIsBeingLaunchedIsKnown() {
        remember(launched(host.runner(), DriverMachine.START, Phase.CREATED, true));

        assertTrue(isKnownThoughAbsent());
        assertEquals(0, host.driver.calls.size());
    }

    @Test
    void aDriverWithoutAProcessIsKnown() throws Exception {
        host.endProcess();
        assertTrue(isKnownThoughAbsent());

        host.runProcess();
        remember(launched(host.runner(), DriverMachine.START, Phase.STARTED, false));
        assertTrue(isKnownThoughAbsent());
        assertEquals(0, host.driver.calls.size());
    }

    @Test
    void aDriverThatDoesNotAnswerIsKnown() {
        host.driver.failing("PluginInfo", Status.UNAVAILABLE);

        assertTrue(isKnownThoughAbsent());
    }

    @Test
    void aDriverWithoutAHandshakeIsKnown() throws Exception {
        Path output = host.directory(host.runner()).outputFile();
        Files.writeString(output, "no handshake\n");
        assertTrue(isKnownThoughAbsent());

        Files.delete(output);
        Files.createDirectories(output);
        assertTrue(isKnownThoughAbsent());
    }

    @Test
    void whichDriverIsAbsentAndWhyIsTold() {
        remember(null);

        Absent absent = assertThrows(Absent.class, () -> drivers.running(DriverMachine.RUNNER, LONG));

        assertTrue(absent.words().startsWith("driver runner "), absent.words());
    }
}
