package io.homeostat.reconcile.agent.telemetry;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.loop.PassId;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.record.Outcome;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What the passes say in metrics: how many there are, what they do, and how far the workloads are from their desired state. */
public final class PassMetrics implements PassListener {
    private static final Duration[] PASS_BUCKETS = {
        Duration.ofMillis(5),
        Duration.ofMillis(10),
        Duration.ofMillis(50),
        Duration.ofMillis(100),
        Duration.ofMillis(500),
        Duration.ofSeconds(1),
        Duration.ofSeconds(5),
        Duration.ofSeconds(30),
        Duration.ofMinutes(2)
    };

    private static final Duration[] CONVERGENCE_BUCKETS = {
        Duration.ofMillis(100),
        Duration.ofSeconds(1),
        Duration.ofSeconds(5),
        Duration.ofSeconds(15),
        Duration.ofMinutes(1),
        Duration.ofMinutes(5),
        Duration.ofMinutes(30),
        Duration.ofHours(4)
    };

    private enum Standing {
        CONVERGED,
        PROGRESSING,
        STUCK
    }

    /** How one workload stands, and since when it has not been at its desired state; null while it is. */
    private record Course(Standing standing, @Nullable Long since) {}

    private final Ticker ticker;
    private final MeterRegistry registry;
    private final Map<WorkloadId, Course> courses = new ConcurrentHashMap<>();
    private final Map<WorkloadId, Long> begun = new ConcurrentHashMap<>();
    private final Map<WorkloadId, Counter> restarts = new ConcurrentHashMap<>();
    private final Timer passTime;
    private final Timer convergenceTime;

    PassMetrics(Ticker ticker, MeterRegistry registry) {
        this.ticker = ticker;
        this.registry = registry;
        this.passTime = Timer.builder("homeostat.pass.duration")
                .description(
                        "How long a pass over one workload took, its step included unless that fetches an archive.")
                .serviceLevelObjectives(PASS_BUCKETS)
                .register(registry);
        this.convergenceTime = Timer.builder("homeostat.convergence.duration")
                .description(
                        "From the pass that found a workload not at its desired state to the one that found it there.")
                .serviceLevelObjectives(CONVERGENCE_BUCKETS)
                .register(registry);
        Gauge.builder("homeostat.convergence.lag.seconds", this, PassMetrics::lagSeconds)
                .description("How long the longest of them has not been at its desired state.")
                .register(registry);
        for (Standing standing : Standing.values()) {
            Gauge.builder("homeostat.workloads", this, m -> m.count(standing))
                    .description("Workloads by how they stand.")
                    .tag("state", word(standing))
                    .register(registry);
        }
    }

    @Override
    public void begun(PassId pass) {
        begun.put(pass.workload(), ticker.read());
        counter(
                        "homeostat.pass.triggers",
                        "Passes by what made them due.",
                        "trigger",
                        pass.trigger().word())
                .increment();
    }

    @Override
    public void starting(Step step) {
        // Counted when it ends.
    }

    @Override
    public void finished(WorkloadId id, PassResult next) {
        long now = ticker.read();
        long from = begunAt(id, now);
        switch (next) {
            case PassResult.Settled(WorkloadPlan plan) -> {
                passed("settled", now - from);
                settled(id, plan, now);
            }
            case PassResult.Again(WorkloadPlan plan, Step step, Outcome outcome) -> {
                passed("stepped", now - from);
                stepped(id, plan, step, outcome);
                unsettled(id, Standing.PROGRESSING, from);
            }
            case PassResult.UnderWay underWay -> {
                passed("waiting", now - from);
                unsettled(id, Standing.PROGRESSING, from);
            }
            case PassResult.Later later -> {
                passed("waiting", now - from);
                unsettled(
                        id,
                        later.until().kind() == Step.Wait.Kind.PROGRESS ? Standing.PROGRESSING : Standing.STUCK,
                        from);
            }
        }
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        long now = ticker.read();
        long from = begunAt(id, now);
        passed("broken", now - from);
        unsettled(id, Standing.STUCK, from);
    }

    private long begunAt(WorkloadId id, long otherwise) {
        Long at = begun.remove(id);
        return at == null ? otherwise : at;
    }

    private void passed(String result, long nanos) {
        passTime.record(nanos, TimeUnit.NANOSECONDS);
        counter("homeostat.passes", "Passes by how they ended.", "result", result)
                .increment();
    }

    private void settled(WorkloadId id, WorkloadPlan plan, long now) {
        boolean gone = plan.before() == null && plan.after() == null;
        @Nullable Course before = gone ? courses.remove(id) : courses.put(id, new Course(Standing.CONVERGED, null));
        if (before != null && before.since() != null) {
            convergenceTime.record(now - before.since(), TimeUnit.NANOSECONDS);
        }
        if (gone) {
            Counter series = restarts.remove(id);
            if (series != null) {
                registry.remove(series);
            }
        }
    }

    private void unsettled(WorkloadId id, Standing standing, long from) {
        courses.compute(
                id,
                (_, before) -> new Course(standing, before == null || before.since() == null ? from : before.since()));
    }

    private void stepped(WorkloadId id, WorkloadPlan plan, Step step, Outcome outcome) {
        boolean failed = outcome instanceof Outcome.Failed;
        counter("homeostat.steps", "Steps by how they ended.", "step", step.word(), "outcome", word(outcome))
                .increment();
        if (failed) {
            counter("homeostat.failures", "Steps that failed.", "step", step.word(), "reason", word(plan.reason()))
                    .increment();
        } else if (step instanceof Step.Launch && plan.reason().isDrift()) {
            restarts.computeIfAbsent(id, this::restarts).increment();
        }
    }

    private Counter counter(String name, String description, String... tags) {
        return Counter.builder(name).description(description).tags(tags).register(registry);
    }

    private Counter restarts(WorkloadId id) {
        return Counter.builder("homeostat.restarts")
                .description("Processes that were started again because the machine was not as declared.")
                .tag("workload", id.brief())
                .register(registry);
    }

    private double lagSeconds() {
        long now = ticker.read();
        return courses.values().stream()
                        .map(Course::since)
                        .filter(since -> since != null)
                        .mapToLong(since -> now - since)
                        .max()
                        .orElse(0)
                / 1e9;
    }

    private double count(Standing standing) {
        return courses.values().stream()
                .filter(course -> course.standing() == standing)
                .count();
    }

    private static String word(Outcome outcome) {
        return switch (outcome) {
            case Outcome.Done done -> "done";
            case Outcome.Failed failed -> "failed";
            case Outcome.Unsupported unsupported -> "unsupported";
            case Outcome.Interrupted interrupted -> "interrupted";
        };
    }

    private static String word(Enum<?> word) {
        return word.name().toLowerCase(Locale.ROOT);
    }
}
