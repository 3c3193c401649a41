package io.homeostat.reconcile.controlplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Lifecycle.Metrics;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.health.Health;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.usage.UsageSampler;
import io.homeostat.proto.acp.CurrentPluginStates;
import io.homeostat.reconcile.plan.Example;
import io.homeostat.reconcile.plan.Planner;
import io.homeostat.reconcile.record.ObservationRecorder.Learned;
import io.homeostat.reconcile.status.Survey.Finding;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The plugin is this very process's parent, so that there is something to sample; time goes by as the test says. */
class SampledStatesTest {
    private static final WorkloadId ID = WorkloadId.plugin("p");
    private static final Metrics EVERY_SECOND = new Metrics(Duration.ofSeconds(1), 60);

    @TempDir
    Path directory;

    private long nanos;
    private UsageSampler sampler;
    private SampledStates states;

    @BeforeEach
    void setUp() throws IOException {
        ProcFs procFs = new ProcFs();
        sampler = new UsageSampler(
                new Layout(directory.resolve("s"), directory.resolve("r"), "i"),
                procFs,
                () -> Example.NOW.plusNanos(nanos),
                new Ticker() {
                    @Override
                    public long read() {
                        return nanos;
                    }
                });
        states = new SampledStates(sampler);
        assertTrue(sampler.follow(ID, EVERY_SECOND, ImmutableList.of(parent(procFs))));
        second(0);
    }

    @Test
    void anAnswerThatGotLostTakesNoSampleWithIt() {
        second(1);
        assertEquals(1, samples(answer()));
        second(2);
        assertEquals(2, samples(answer()));
    }

    @Test
    void whatWasAcknowledgedIsToldNoMore() {
        second(1);
        PluginStates.Answer first = answer();
        second(2);
        PluginStates.Answer second = answer();
        assertEquals(2, samples(second));
        first.acknowledged().run();
        assertEquals(1, samples(answer()), "only the second one carried it");
        first.acknowledged().run();
        second.acknowledged().run();
        assertEquals(0, samples(answer()));
    }

    @Test
    void samplesOfWhatAnAnswerDoesNotTellOfAreKept() {
        second(1);
        states.of(ImmutableList.of()).acknowledged().run();
        assertEquals(1, samples(answer()));
    }

    @Test
    void ofMoreSamplesThanAMessageHoldsTheOldestAreToldAndTheNextAnswersHaveTheRest() {
        states = new SampledStates(sampler, 1_000);
        for (int second = 1; second <= 60; second++) {
            second(second);
        }
        for (int told = 0; told < 60; ) {
            PluginStates.Answer answer = answer();
            assertTrue(answer.message().getSerializedSize() <= 1_000);
            assertEquals(
                    Example.NOW.plusSeconds(told + 1).getEpochSecond(),
                    answer.message()
                            .getDaemonPluginStates(0)
                            .getCurrentPluginMetrics(0)
                            .getTimestamp()
                            .getSeconds());
            told += samples(answer);
            answer.acknowledged().run();
        }
        assertEquals(0, samples(answer()));
    }

    @Test
    void aPluginThatTalksWithoutEndIsNotLetFinishSoThatTheAnswerCanBeSent() {
        Health endless = new Health(
                Health.Verdict.HEALTHY, 1, ImmutableList.of("first", "x".repeat(4 << 20), "last"), "", Example.NOW);
        Learned learned = Example.plugin()
                .wants("A")
                .installed("A")
                .active("A")
                .runs("A", Phase.STARTED, Duration.ofHours(1), endless)
                .learned();

        PluginStates.Answer answer = states.of(ImmutableList.of(
                new Finding(learned.situation().history(), learned.situation(), Planner.plan(learned.situation()))));

        assertTrue(answer.message().getSerializedSize() < 3 << 20);
        CurrentPluginStates.Status status =
                answer.message().getDaemonPluginStates(0).getCurrentPluginStatus();
        assertEquals(1, status.getResponseCode());
        assertEquals("first", status.getResults(0));
        assertTrue(status.getResults(1).endsWith("x..."));
        assertEquals(2, status.getResultsCount());
    }

    private static Instance parent(ProcFs procFs) throws IOException {
        long pid = ProcessHandle.current().parent().orElseThrow().pid();
        return new Instance(
                "l1",
                ID,
                "target",
                "A",
                null,
                ImmutableSortedMap.of(),
                Example.NOW,
                new ProcessIdentity(pid, procFs.stat(pid).orElseThrow().startTicks(), procFs.bootId()),
                Phase.STARTED,
                "");
    }

    private void second(long second) {
        nanos = Duration.ofSeconds(second).toNanos();
        sampler.sample();
    }

    private PluginStates.Answer answer() {
        Learned learned =
                Example.plugin().wants("A").installed("A").active("A").runs("A").learned();
        return states.of(ImmutableList.of(
                new Finding(learned.situation().history(), learned.situation(), Planner.plan(learned.situation()))));
    }

    private static int samples(PluginStates.Answer answer) {
        return answer.message().getDaemonPluginStates(0).getCurrentPluginMetricsCount();
    }
}
