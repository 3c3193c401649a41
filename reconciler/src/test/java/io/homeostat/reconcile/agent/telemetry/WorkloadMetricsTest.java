package io.homeostat.reconcile.agent.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.channel.ChannelStatus;
import io.homeostat.desired.model.Lifecycle.Restart.Policy;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.usage.UsageReport.Usage;
import io.homeostat.reconcile.controlplane.ControlPlane.ControlPlaneStatus;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.sim.Declarations;
import io.homeostat.reconcile.sim.Wish;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** What metrics say of each workload, and that all of them are as Prometheus wants metrics to be. */
class WorkloadMetricsTest {
    private static final WorkloadId ID = Example.plugin().situation().id();
    private static final String LABEL = "{workload=\"" + ID + "\"}";

    private static final Exit EXIT = new Exit(3, null, Exit.Reason.EXITED, Example.NOW);

    private final Passes passes = new Passes();
    private final AgentMetrics metrics = new AgentMetrics(passes, "1.2.3", Instant.ofEpochSecond(1_700_000_000));

    @Test
    void whichWorkloadIsDownIsSeen() {
        looked(Example.plugin().wants("A").installed("A").active("A").runs("A").knownGood("A"));

        assertSeries("homeostat_workload_up" + LABEL + " 1.0");
        assertSeries("homeostat_workload_healthy" + LABEL + " 1.0");
        assertSeries("homeostat_workload_converged" + LABEL + " 1.0");
        assertSeries("homeostat_workload_restarts_total" + LABEL + " 0.0");
        assertSeries("homeostat_workload_info{revision=\"A\",state=\"RUNNING\",workload=\"" + ID + "\"} 1");
        assertFalse(metrics.scrape().contains("homeostat_workload_last_exit_code{"), metrics.scrape());

        looked(Example.plugin()
                .wants("A")
                .installed("A")
                .active("A")
                .knownGood("A")
                .ended("A", EXIT));

        assertSeries("homeostat_workload_up" + LABEL + " 0.0");
        assertSeries("homeostat_workload_healthy" + LABEL + " 0.0");
        assertSeries("homeostat_workload_converged" + LABEL + " 0.0");
        assertSeries("homeostat_workload_last_exit_code" + LABEL + " 3.0");
        assertSeries("homeostat_workload_info{revision=\"A\",state=\"CRASHED\",workload=\"" + ID + "\"} 1");
        assertFalse(metrics.scrape().contains("RUNNING"), "the state it was in before has ended");
    }

    @Test
    void whatHasCompletedIsNotUpAndHealthyAllTheSame() {
        looked(Example.plugin()
                .wants(Wish.of("A", ImmutableList.of(), "c").restarted(Policy.ON_FAILURE))
                .installed("A")
                .active("A")
                .knownGood("A")
                .ended("A", new Exit(0, null, Exit.Reason.EXITED, Example.NOW)));

        assertSeries("homeostat_workload_up" + LABEL + " 0.0");
        assertSeries("homeostat_workload_healthy" + LABEL + " 1.0");
        assertSeries("homeostat_workload_converged" + LABEL + " 1.0");
        assertSeries("homeostat_workload_last_exit_code" + LABEL + " 0.0");
        assertSeries("homeostat_workload_info{revision=\"A\",state=\"EXECUTION_COMPLETED\",workload=\"" + ID + "\"} 1");
    }

    @Test
    void whatIsGoneHasNoSeries() {
        looked(Example.plugin().wants("A"));
        assertTrue(metrics.scrape().contains(ID.toString()));

        looked(Example.plugin());

        assertFalse(metrics.scrape().contains(ID.toString()), metrics.scrape());
    }

    @Test
    void everyFamilyHasItsHelpAndItsTypeAndAConventionalName() {
        everything();
        Map<String, String> types = new HashMap<>();
        Set<String> helped = new HashSet<>();
        Pattern comment = Pattern.compile("# (HELP|TYPE) ([a-z_]+) (.+)");
        for (String line : metrics.scrape().lines().toList()) {
            Matcher words = comment.matcher(line);
            if (words.matches() && words.group(1).equals("HELP")) {
                assertTrue(helped.add(words.group(2)), line);
            } else if (words.matches()) {
                assertEquals(null, types.put(words.group(2), words.group(3)), line);
            } else {
                assertFalse(line.startsWith("#"), line);
                String name = line.replaceFirst("[{ ].*", "");
                String family = types.containsKey(name) ? name : name.replaceFirst("_(bucket|sum|count)$", "");
                assertTrue(helped.contains(family) && types.containsKey(family), line);
                assertEquals(
                        family.endsWith("_total"),
                        types.getOrDefault(family, "").equals("counter"),
                        line);
                assertFalse(family.matches(".*_(percent|milliseconds|minutes|kilobytes|kib)"), line);
                assertTrue(family.matches("(homeostat|process)_.*"), line);
            }
        }
        assertEquals(helped, types.keySet());
        assertTrue(types.size() > 30, types::toString);
    }

    @Test
    void promtoolHasNothingToSay() throws IOException, InterruptedException {
        Optional<Path> promtool = Stream.of(System.getenv("PATH").split(":", -1))
                .map(directory -> Path.of(directory, "promtool"))
                .filter(Files::isExecutable)
                .findFirst();
        Assumptions.assumeTrue(promtool.isPresent(), "promtool is not installed");
        everything();

        Process check = new ProcessBuilder(promtool.get().toString(), "check", "metrics")
                .redirectErrorStream(true)
                .start();
        try (var in = check.getOutputStream()) {
            in.write(metrics.scrape().getBytes(StandardCharsets.UTF_8));
        }
        String said = new String(check.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertEquals("", said);
        assertEquals(0, check.waitFor());
    }

    /** At least one series of each family. */
    private void everything() {
        looked(Example.plugin()
                .wants("A")
                .installed("A")
                .active("A")
                .knownGood("A")
                .ended("A", EXIT));
        for (PassListener listener : metrics.listeners()) {
            Step launch =
                    new Step.Launch(Declarations.workload(Passes.WORKLOAD, "A", ImmutableList.of(), null), "h", "d");
            passes.stepped(listener, launch, Reason.PROCESS_EXITED, Outcome.done(), Duration.ofSeconds(1));
            Outcome failed = new Outcome.Failed(FailureCause.of(FailureCause.Kind.INPUT_OUTPUT), "x", false);
            passes.stepped(listener, launch, Reason.PROCESS_EXITED, failed, Duration.ofSeconds(1));
            passes.settled(listener);
        }
        metrics.usage(() -> Map.of(WorkloadId.process("p"), new Usage(Instant.EPOCH, 12.5, 4096)));
        metrics.queueDepth(() -> 1);
        metrics.sourceProblems("files", () -> 1);
        metrics.sets(() -> ImmutableList.of(AgentMetricsTest.answeredAt(Instant.EPOCH)), () -> Instant.EPOCH);
        metrics.watch(new LoopWatch(passes));
        metrics.controlPlane(() -> Optional.of(
                new ControlPlaneStatus(new ChannelStatus("unix:/s", Instant.EPOCH, null, 2, ""), 3, 4, 5, 6)));
    }

    private void looked(Example example) {
        Situation learned = example.learned().situation();
        metrics.listeners().forEach(listener -> listener.looked(learned, Planner.plan(learned)));
    }

    private void assertSeries(String line) {
        List<String> lines = metrics.scrape().lines().toList();
        assertTrue(lines.contains(line), () -> line + " is not in\n" + metrics.scrape());
    }
}
