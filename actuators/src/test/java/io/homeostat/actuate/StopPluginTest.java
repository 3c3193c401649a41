package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.base.Stopwatch;
import com.google.common.collect.MoreCollectors;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.actuate.StopResult.How;
import io.homeostat.actuate.StoppablePlugin.AtStop;
import io.homeostat.desired.store.Handle;
import io.homeostat.desired.store.Handle.StartState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The plugin protocol's Stop comes before signals, and never before Start. */
class StopPluginTest {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(900);

    @TempDir
    Path root;

    private TestBed bed;

    @BeforeEach
    void setUp() {
        bed = new TestBed(root);
    }

    @AfterEach
    void tearDown() throws Exception {
        bed.close();
    }

    private Handle launched(StartState start) throws Exception {
        Handle handle = bed.launch(TestBed.PLUGIN, bed.program("p", "exec sleep 1000"));
        bed.awaitProgram(handle, "sleep");
        return handle.withStart(start, "");
    }

    private StoppablePlugin listening(AtStop atStop) throws Exception {
        return new StoppablePlugin(bed.layout.socket(TestBed.PLUGIN, "r1"), atStop);
    }

    @Test
    void aStartedPluginIsAskedFirstAndTellsHowItEnded() throws Exception {
        Path go = root.resolve("go");
        Handle handle = bed.launch(
                        TestBed.PLUGIN,
                        bed.program(
                                "p", "trap 'exit 9' TERM", "while [ ! -e " + go + " ]; do sleep 0.02; done", "exit 5"))
                .withStart(StartState.SUCCEEDED, "");
        try (StoppablePlugin plugin = listening(answer -> {
            Files.createFile(go);
            StoppablePlugin.agree(answer);
        })) {
            StopResult result = bed.stop(handle, LONG);

            assertEquals(How.ASKED, result.how());
            assertEquals(5, result.exit().orElseThrow().code());
            assertEquals(1, plugin.requests.size());
        }
        assertFalse(Files.exists(bed.layout.socket(TestBed.PLUGIN, "r1")));
    }

    @Test
    void aPluginLearnsWhetherItIsBeingRemovedAndHowLongItMayTake() throws Exception {
        for (boolean cleanup : new boolean[] {false, true}) {
            Handle handle = launched(StartState.SUCCEEDED);
            try (StoppablePlugin plugin = listening(answer -> {
                TestBed.signal("KILL", TestBed.pid(handle));
                StoppablePlugin.agree(answer);
            })) {
                bed.stopper.stop(new StopRequest(handle, cleanup, LONG));

                io.homeostat.proto.plugin.StopRequest request =
                        plugin.requests.stream().collect(MoreCollectors.onlyElement());
                assertEquals(cleanup, request.getCleanup());
                assertEquals(LONG.toSeconds(), request.getDeadline().getSeconds());
            }
        }
    }

    @Test
    void aPluginIsNotAskedBeforeItIsKnownToHaveStarted() throws Exception {
        for (StartState start : new StartState[] {StartState.NOT_SENT, StartState.SENT}) {
            Handle handle = launched(start);
            try (StoppablePlugin plugin = listening(StoppablePlugin::agree)) {
                assertEquals(How.TERMINATED, bed.stop(handle, LONG).how());
                assertTrue(plugin.requests.isEmpty(), start.toString());
            }
        }
    }

    @Test
    void aPluginThatRefusesGetsSigtermAtOnce() throws Exception {
        Handle handle = launched(StartState.SUCCEEDED);
        Stopwatch time = Stopwatch.createStarted();
        try (StoppablePlugin plugin = listening(answer -> {
            throw new StatusRuntimeException(Status.FAILED_PRECONDITION);
        })) {
            assertEquals(How.TERMINATED, bed.stop(handle, LONG).how());
            assertEquals(1, plugin.requests.size());
        }
        assertTrue(time.elapsed().compareTo(LONG.dividedBy(2)) < 0, time.toString());
    }

    @Test
    void aPluginThatNobodyCanReachGetsSigtermAtOnce() throws Exception {
        Handle handle = launched(StartState.SUCCEEDED);
        Stopwatch time = Stopwatch.createStarted();

        assertEquals(How.TERMINATED, bed.stop(handle, LONG).how());

        assertTrue(time.elapsed().compareTo(LONG.dividedBy(2)) < 0, time.toString());
    }

    @Test
    void aPluginHasTheWholeTimeoutToEndByItselfAndIsThenKilled() throws Exception {
        for (AtStop atStop : List.<AtStop>of(StoppablePlugin::agree, answer -> {})) {
            Path told = root.resolve("told");
            Path ready = root.resolve("ready");
            Handle handle = bed.launch(
                            TestBed.PLUGIN,
                            bed.program(
                                    "p",
                                    "trap 'echo > " + told + "' TERM",
                                    "echo > " + ready,
                                    "while :; do sleep 0.02; done"))
                    .withStart(StartState.SUCCEEDED, "");
            bed.awaitFile(ready);
            Stopwatch time = Stopwatch.createStarted();
            try (StoppablePlugin plugin = listening(atStop)) {
                assertEquals(How.KILLED, bed.stop(handle, SHORT).how());
                assertEquals(1, plugin.requests.size());
            }
            assertTrue(time.elapsed().compareTo(SHORT) >= 0, time.toString());
            assertFalse(Files.exists(told), "it got SIGTERM while it still had time");
            assertEquals(0, bed.members(handle));
            Files.delete(ready);
        }
    }

    @Test
    void aPluginThatIsGoneIsNotAsked() throws Exception {
        Handle handle = bed.launch(TestBed.PLUGIN, bed.program("p", "exit 0")).withStart(StartState.SUCCEEDED, "");
        bed.ended(handle);
        try (StoppablePlugin plugin = listening(StoppablePlugin::agree)) {
            assertEquals(How.ALREADY_GONE, bed.stop(handle, LONG).how());
            assertTrue(plugin.requests.isEmpty());
        }
    }
}
