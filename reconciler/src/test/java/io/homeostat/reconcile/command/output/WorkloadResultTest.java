package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.Step.Wait;
import io.homeostat.reconcile.plan.WorkloadPlan;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What the end of a command says of workloads that are not as declared. */
class WorkloadResultTest {
    private static final Instant OPENS = Instant.parse("2026-11-21T23:30:00Z");

    private final PrintStream nobody = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
    private final ProgressDisplay.Plain display = new ProgressDisplay.Plain(
            new Console(nobody, nobody, OutputFormat.TEXT, new Ansi(false)),
            "apply",
            0,
            ProgressDisplay.Plain.SILENCE,
            Ticker.systemTicker());

    @Test
    void whatWaitsForItsWindowHasNotFailedWhateverKindItIs() throws IOException {
        ImmutableList<WorkloadResult> results = ImmutableList.of(
                result(WorkloadId.plugin("agent"), Reason.WAITING_FOR_WINDOW, "closed now"),
                result(WorkloadId.process("web"), Reason.WAITING_FOR_WINDOW, "closed now"),
                result(WorkloadId.process("bad"), Reason.INSTALL_FAILED, "no such file"));

        assertEquals(
                ImmutableList.of("waiting: closed now", "waiting: closed now", "failed: no such file"),
                results.stream().map(WorkloadResult::words).collect(ImmutableList.toImmutableList()));
        assertTrue(results.stream().allMatch(WorkloadResult::isLeftUndone));
        assertEquals(
                "Apply: 0 installed, 0 updated, 0 repaired, 0 removed, 1 failed, 2 waiting, 0 unchanged.",
                WorkloadResult.summary("apply", results));
        JsonNode json = json(results);
        assertEquals("waiting", json.at("/workloads/0/result").textValue());
        assertEquals("closed now", json.at("/workloads/0/message").textValue());
        assertEquals(1, json.at("/summary/failed").intValue());
        assertEquals(2, json.at("/summary/waiting").intValue());
    }

    private WorkloadResult result(WorkloadId id, Reason reason, String why) {
        PassSummary summary = new PassSummary(
                ImmutableSet.of(id),
                ImmutableSet.of(id),
                ImmutableSet.of(),
                any -> ImmutableList.of(),
                display,
                Overtaken.NEVER,
                ImmutableSet.of(),
                () -> 0);
        Wait wait = new Wait(id, OPENS, Wait.Kind.RETRY, why);
        WorkloadPlan plan = new WorkloadPlan(id, Action.WAIT, reason, why, ImmutableList.of(wait), null, null);
        summary.finished(id, new PassResult.Later(plan, wait));
        return summary.results("not done in time", Set.of()).getFirst();
    }

    private static JsonNode json(ImmutableList<WorkloadResult> results) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Json.print(new PrintStream(out, false, StandardCharsets.UTF_8), WorkloadResult.json(results));
        return new ObjectMapper().readTree(out.toByteArray());
    }
}
