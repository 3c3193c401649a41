package io.homeostat.reconcile.agent.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.HeardLog;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PassLogTest {
    private static final Step STEP = new Step.Activate(Passes.WORKLOAD, "ops-agent_A");

    private final Passes passes = new Passes();
    private final PassLog log = new PassLog(passes);
    private final HeardLog heard = HeardLog.ofThisThread(PassLog.class);

    @AfterEach
    void detach() {
        heard.close();
    }

    private List<String> said() {
        return heard.events().stream()
                .map(event -> event.getLevel() + " " + event.getFormattedMessage())
                .toList();
    }

    @Test
    void aStepIsALineWithItsOutcomeAndTimeAndSoIsConvergence() {
        passes.stepped(log, STEP, Reason.LINK_MOVED, Outcome.done("was elsewhere"), Duration.ofMillis(12));
        passes.settled(log);

        assertEquals(List.of("INFO activate done in 12 ms: was elsewhere", "INFO converged"), said());
    }

    @Test
    void aFetchTookAsLongAsItDidThoughOtherStepsWereDoneMeanwhile() {
        Step unpack = new Step.Unpack(Passes.WORKLOAD, "key", null, "B", "ops-agent_B", null);
        log.starting(unpack);
        passes.pass(Duration.ofSeconds(30));
        passes.stepped(log, STEP, Reason.LINK_MOVED, Outcome.done(), Duration.ofMillis(12));
        log.finished(Passes.WORKLOAD, passes.again(unpack, Reason.REVISION_CHANGED, Outcome.done()));

        assertEquals(List.of("INFO activate done in 12 ms", "INFO unpack done in 30.0 s"), said());
    }

    @Test
    void aPassThatFindsAllWellSaysNothing() {
        passes.settled(log);
        passes.settled(log);
        passes.waits(log, Step.Wait.Kind.PROGRESS, Reason.START_NOT_FINISHED, "it starts");

        assertEquals(List.of(), said());
    }

    @Test
    void beingStuckIsSaidOnceForEachReason() {
        passes.stepped(
                log,
                STEP,
                Reason.LINK_MOVED,
                new Outcome.Failed(FailureCause.of(FailureCause.Kind.DISK_FULL), "disk full", false),
                Duration.ofSeconds(90));
        passes.waits(log, Step.Wait.Kind.RETRY, Reason.STEP_FAILED, "again at 12:00");
        passes.waits(log, Step.Wait.Kind.RETRY, Reason.STEP_FAILED, "again at 12:01");
        passes.waits(log, Step.Wait.Kind.DECLARATION, Reason.GIVEN_UP, "given up");

        assertEquals(
                List.of(
                        "WARN activate failed after 90.0 s: disk full",
                        "WARN stuck: again at 12:00",
                        "WARN stuck: given up"),
                said());
    }

    @Test
    void whatIsGoneIsForgotten() {
        passes.stepped(log, STEP, Reason.NO_LONGER_DECLARED, Outcome.done(), Duration.ofMillis(1));
        passes.gone(log);
        passes.gone(log);

        assertEquals(List.of("INFO activate done in 1 ms", "INFO nothing is left of it"), said());
    }
}
