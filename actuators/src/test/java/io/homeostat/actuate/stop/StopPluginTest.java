package io.homeostat.actuate.stop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.base.Stopwatch;
import com.google.common.collect.MoreCollectors;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.stop.StoppablePlugin.AtStop;
import io.homeostat.actuate.stop.Stopper.StopResult;
import io.homeostat.actuate.stop.Stopper.StopResult.How;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.proto.plugin.StopRequest;
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
    private static final Duration SHORT = Duration.ofSeconds(3);

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

    private Instance launched(Phase start) throws Exception {
        Instance instance = bed.launch(TestBed.PLUGIN, bed.program("p", "exec sleep 1000"));
        bed.awaitProgram(instance, "sleep");
        return instance.withPhase(start, "");
    }

    private StoppablePlugin listening(AtStop atStop) throws Exception {
        return new StoppablePlugin(bed.layout.socket(TestBed.PLUGIN, "r1"), atStop);
    }

    @Test
    void aStartedPluginIsAskedFirstAndTellsHowItEnded() throws Exception {
        Path go = root.resolve("go");
        Instance instance = bed.launch(
                        TestBed.PLUGIN,
                        bed.program(
                                "p", "trap 'exit 9' TERM", "while [ ! -e " + go + " ]; do sleep 0.02; done", "exit 5"))
                .withPhase(Phase.STARTED, "");
        try (StoppablePlugin plugin = listening(answer -> {
            Files.createFile(go);
            StoppablePlugin.agree(answer);
        })) {
            StopResult result = bed.stop(instance, LONG);

            assertEquals(How.ASKED, result.how());
            assertEquals(5, result.exit().orElseThrow().code());
            assertEquals(1, plugin.requests.size());
        }
        assertFalse(Files.exists(bed.layout.socket(TestBed.PLUGIN, "r1")));
    }

    @Test
    void aPluginLearnsWhetherItIsBeingRemovedAndHowLongItMayTake() throws Exception {
        for (boolean cleanup : new boolean[] {false, true}) {
            Instance instance = launched(Phase.STARTED);
            try (StoppablePlugin plugin = listening(answer -> {
                TestBed.signal("KILL", TestBed.pid(instance));
                StoppablePlugin.agree(answer);
            })) {
                bed.stop(instance, cleanup, LONG);

                StopRequest request = plugin.requests.stream().collect(MoreCollectors.onlyElement());
                assertEquals(cleanup, request.getCleanup());
                assertEquals(LONG.toSeconds(), request.getDeadline().getSeconds());
            }
        }
    }

    @Test
    void aPluginIsNotAskedBeforeItIsKnownToHaveStarted() throws Exception {
        for (Phase start : new Phase[] {Phase.CREATED, Phase.START_SENT}) {
            Instance instance = launched(start);
            try (StoppablePlugin plugin = listening(StoppablePlugin::agree)) {
                assertEquals(How.TERMINATED, bed.stop(instance, LONG).how());
                assertTrue(plugin.requests.isEmpty(), start.toString());
            }
        }
    }

    @Test
    void aPluginThatRefusesGetsSigtermAtOnce() throws Exception {
        Instance instance = launched(Phase.STARTED);
        Stopwatch time = Stopwatch.createStarted();
        try (StoppablePlugin plugin = listening(answer -> {
            throw new StatusRuntimeException(Status.FAILED_PRECONDITION);
        })) {
            assertEquals(How.TERMINATED, bed.stop(instance, LONG).how());
            assertEquals(1, plugin.requests.size());
        }
        assertTrue(time.elapsed().compareTo(LONG.dividedBy(2)) < 0, time.toString());
    }

    @Test
    void aPluginThatNobodyCanReachGetsSigtermAtOnce() throws Exception {
        Instance instance = launched(Phase.STARTED);
        Stopwatch time = Stopwatch.createStarted();

        assertEquals(How.TERMINATED, bed.stop(instance, LONG).how());

        assertTrue(time.elapsed().compareTo(LONG.dividedBy(2)) < 0, time.toString());
    }

    @Test
    void aPluginHasTheWholeTimeoutToEndByItselfAndIsThenKilled() throws Exception {
        for (AtStop atStop : List.<AtStop>of(StoppablePlugin::agree, answer -> {})) {
            Path told = root.resolve("told");
            Path ready = root.resolve("ready");
            Instance instance = bed.launch(
                            TestBed.PLUGIN,
                            bed.program(
                                    "p",
                                    "trap 'echo > " + told + "' TERM",
                                    "echo > " + ready,
                                    "while :; do sleep 0.02; done"))
                    .withPhase(Phase.STARTED, "");
            bed.awaitFile(ready);
            Stopwatch time = Stopwatch.createStarted();
            try (StoppablePlugin plugin = listening(atStop)) {
                assertEquals(How.KILLED, bed.stop(instance, SHORT).how());
                assertEquals(1, plugin.requests.size());
            }
            assertTrue(time.elapsed().compareTo(SHORT) >= 0, time.toString());
            assertFalse(Files.exists(told), "it got SIGTERM while it still had time");
            assertEquals(0, bed.members(instance));
            Files.delete(ready);
        }
    }

    @Test
    void aPluginThatIsGoneIsNotAsked() throws Exception {
        Instance instance =
                bed.launch(TestBed.PLUGIN, bed.program("p", "exit 0")).withPhase(Phase.STARTED, "");
        bed.ended(instance);
        try (StoppablePlugin plugin = listening(StoppablePlugin::agree)) {
            assertEquals(How.ALREADY_GONE, bed.stop(instance, LONG).how());
            assertTrue(plugin.requests.isEmpty());
        }
    }
}
