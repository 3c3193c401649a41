package io.homeostat.actuate.stop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.MoreCollectors;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.PluginProtocol;
import io.homeostat.actuate.stop.StoppablePlugin.AtStop;
import io.homeostat.actuate.stop.Stopper.StopResult;
import io.homeostat.actuate.stop.Stopper.StopResult.How;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.health.Health.Verdict;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.proto.plugin.StopRequest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The plugin protocol's Stop comes before signals, and never before Start. */
@Timeout(60)
class StopPluginTest {
    /** Who waits for it runs into the limit of the tests. */
    private static final Duration LONG = Duration.ofDays(1);

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
        Instance instance = bed.launch(TestBed.PLUGIN, trapping("exit 5")).withPhase(Phase.STARTED, "");
        bed.awaitFile(ready());
        try (StoppablePlugin plugin = listening(StoppablePlugin::agree)) {
            StopResult result = bed.stop(instance, LONG);

            assertEquals(How.ASKED, result.how());
            assertEquals(5, result.exit().orElseThrow().code());
            assertEquals(1, plugin.requests.size());
        }
        assertFalse(Files.exists(bed.layout.socket(TestBed.PLUGIN, "r1")));
    }

    /** As {@link PluginProtocol} has it for a plugin of another user, who makes the second link. */
    @Test
    void thePluginOfRootIsNotAskedToWhoseSocketThatOfAnotherUserLeads() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root has plugins of other users");
        Instance instance = launched(Phase.STARTED);
        Path usual = bed.layout.socket(TestBed.PLUGIN, "r1");
        Path theirs = Files.createDirectories(bed.layout.runDir().resolve("u65534"));
        Files.setAttribute(theirs, "unix:uid", 65534);
        Path roots = root.resolve("roots.sock");
        Path link = Files.createSymbolicLink(theirs.resolve("plugin.sock"), roots);
        Files.createSymbolicLink(usual, link);
        try (StoppablePlugin other = new StoppablePlugin(roots, StoppablePlugin::agree)) {
            Health health = bed.plugins.status(usual, SHORT);
            assertEquals(Verdict.UNHEALTHY, health.verdict(), health.problem());
            assertEquals(How.TERMINATED, bed.stop(instance, SHORT).how());

            assertEquals(List.of(), other.requests);
        }
    }

    /** A program that goes on until a signal has it do this, and that is ready for it. */
    private Path trapping(String action) throws Exception {
        return bed.program("p", "trap '" + action + "' TERM", "echo > " + ready(), "while :; do sleep 0.02; done");
    }

    private Path ready() {
        return root.resolve("ready");
    }

    @Test
    void aPluginThatHasEndedByItselfWhenItAnswersGetsNoSignal() throws Exception {
        Path told = root.resolve("told");
        Instance instance =
                bed.launch(TestBed.PLUGIN, trapping("echo > " + told)).withPhase(Phase.STARTED, "");
        bed.awaitFile(ready());
        try (StoppablePlugin plugin = listening(answer -> {
            TestBed.signal("KILL", TestBed.pid(instance));
            bed.ended(instance);
            StoppablePlugin.agree(answer);
        })) {
            assertEquals(How.ASKED, bed.stop(instance, LONG).how());
            assertEquals(1, plugin.requests.size());
        }
        assertFalse(Files.exists(told));
    }

    @Test
    void aPluginThatHasAnsweredGetsSigtermAtOnce() throws Exception {
        Instance instance = launched(Phase.STARTED);
        try (StoppablePlugin plugin = listening(StoppablePlugin::agree)) {
            assertEquals(How.ASKED, bed.stop(instance, LONG).how());
            assertEquals(1, plugin.requests.size());
        }
    }

    @Test
    void aPluginThatHasAnsweredHasTheRestOfTheTimeoutToEnd() throws Exception {
        Path told = root.resolve("told");
        Instance instance =
                bed.launch(TestBed.PLUGIN, trapping("echo > " + told)).withPhase(Phase.STARTED, "");
        bed.awaitFile(ready());
        AtomicInteger looks = new AtomicInteger();
        AtomicBoolean killedBefore = new AtomicBoolean();
        // Time stands still until it was looked at a few times since it got the signal.
        Ticker ticker = () -> {
            if (Files.exists(told)) {
                looks.incrementAndGet();
            }
            if (looks.get() > 10) {
                return LONG.toNanos();
            }
            if (ProcessHandle.of(TestBed.pid(instance)).isEmpty()) {
                killedBefore.set(true);
            }
            return 0;
        };
        Stopper stopper = new Stopper(
                bed.layout,
                bed.procFs,
                new PluginProtocol(bed.layout, bed.plugins),
                new LimitObserver(CgroupLayout.NONE),
                Extent.TREE,
                ticker);
        try (StoppablePlugin plugin = listening(StoppablePlugin::agree)) {
            assertEquals(
                    How.KILLED,
                    stopper.stop(new Stopper.StopRequest(instance, false, new Lifecycle.Stop(LONG)))
                            .how());
        }
        assertFalse(killedBefore.get());
        assertEquals(0, bed.members(instance));
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
        try (StoppablePlugin plugin = listening(answer -> {
            throw new StatusRuntimeException(Status.FAILED_PRECONDITION);
        })) {
            assertEquals(How.TERMINATED, bed.stop(instance, LONG).how());
            assertEquals(1, plugin.requests.size());
        }
    }

    @Test
    void aPluginThatNobodyCanReachGetsSigtermAtOnce() throws Exception {
        Instance instance = launched(Phase.STARTED);

        assertEquals(How.TERMINATED, bed.stop(instance, LONG).how());
    }

    @Test
    void aPluginThatDoesNotAnswerHasTheWholeTimeoutAndIsThenKilled() throws Exception {
        Path told = root.resolve("told");
        Instance instance =
                bed.launch(TestBed.PLUGIN, trapping("echo > " + told)).withPhase(Phase.STARTED, "");
        bed.awaitFile(ready());
        try (StoppablePlugin plugin = listening(answer -> {})) {
            // To load what asks may take a busy machine as long as that timeout.
            assertEquals(
                    Verdict.UNHEALTHY,
                    bed.plugins
                            .status(bed.layout.socket(TestBed.PLUGIN, "r1"), LONG)
                            .verdict());
            assertEquals(How.KILLED, bed.stop(instance, SHORT).how());
            StopRequest request = plugin.requests.stream().collect(MoreCollectors.onlyElement());
            assertEquals(SHORT.toSeconds(), request.getDeadline().getSeconds());
        }
        assertFalse(Files.exists(told), "it got SIGTERM while it still had time");
        assertEquals(0, bed.members(instance));
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
