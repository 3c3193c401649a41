package io.homeostat.reconcile.agent.telemetry;

import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.Condition;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.status.Survey.Finding;
import io.homeostat.reconcile.status.WorkloadStatus;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How each workload is, as {@code status} says it, by the last look of the loop; a scrape looks at nothing. The series of a workload end
 * when nothing of it is declared or left.
 */
final class WorkloadMetrics implements PassListener {
    private static final String WORKLOAD = "workload";
    private static final int SIGNAL_BASE = 128;

    private final MeterRegistry registry;
    private final Map<WorkloadId, Look> looks = new ConcurrentHashMap<>();
    private final Map<WorkloadId, FunctionCounter> restarts = new ConcurrentHashMap<>();
    private final MultiGauge up;
    private final MultiGauge healthy;
    private final MultiGauge converged;
    private final MultiGauge lastExit;
    private final MultiGauge info;

    WorkloadMetrics(MeterRegistry registry) {
        this.registry = registry;
        this.up = gauge("up", "1 while an instance of the workload runs, else 0.");
        this.healthy = gauge("healthy", "1 while the workload's condition Healthy is true, else 0.");
        this.converged = gauge("converged", "1 while the workload is at its desired state, else 0.");
        this.lastExit = gauge(
                "last.exit.code",
                "How the workload's process ended last: its exit status, or 128 and the number of the signal that ended it.");
        this.info =
                gauge("info", "Always 1; the labels say which state the workload is in, and which revision is there.");
    }

    /** What is shown of one look. */
    private record Look(
            boolean up,
            boolean healthy,
            boolean converged,
            int restarts,
            @Nullable Integer exitCode,
            String state,
            String revision) {
        static Look of(WorkloadStatus status) {
            return new Look(
                    status.identity() != null,
                    isTrue(status, Condition.Type.HEALTHY),
                    isTrue(status, Condition.Type.CONVERGED),
                    status.restarts(),
                    exitCode(status.lastExit()),
                    status.state().name(),
                    status.currentRevision() == null ? "" : status.currentRevision());
        }

        private static boolean isTrue(WorkloadStatus status, Condition.Type type) {
            return status.conditions().stream()
                    .anyMatch(condition -> condition.type() == type && condition.status() == Condition.Status.TRUE);
        }

        private static @Nullable Integer exitCode(@Nullable Exit exit) {
            if (exit == null) {
                return null;
            }
            Integer signal = exit.signal();
            return exit.code() == null && signal != null ? Integer.valueOf(SIGNAL_BASE + signal) : exit.code();
        }
    }

    private MultiGauge gauge(String name, String description) {
        return MultiGauge.builder("homeostat.workload." + name)
                .description(description)
                .register(registry);
    }

    @Override
    public void looked(Situation situation, WorkloadPlan plan) {
        WorkloadId id = situation.id();
        Finding finding = new Finding(situation.history(), situation, plan);
        if (finding.matters()) {
            looks.put(id, Look.of(WorkloadStatus.of(finding)));
            restarts.computeIfAbsent(id, this::restarts);
            return;
        }
        looks.remove(id);
        FunctionCounter series = restarts.remove(id);
        if (series != null) {
            registry.remove(series);
        }
    }

    private FunctionCounter restarts(WorkloadId id) {
        return FunctionCounter.builder("homeostat.workload.restarts", looks, all -> {
                    Look look = all.get(id);
                    return look == null ? 0 : look.restarts();
                })
                .description("How often the workload was started again since it was declared as it is.")
                .tag(WORKLOAD, id.brief())
                .register(registry);
    }

    /** Brings what the registry shows up to date. */
    void refresh() {
        show(up, Look::up);
        show(healthy, Look::healthy);
        show(converged, Look::converged);
        lastExit.register(
                rows((id, look) -> look.exitCode() == null
                        ? Stream.empty()
                        : Stream.of(MultiGauge.Row.of(Tags.of(WORKLOAD, id.brief()), look.exitCode()))),
                true);
        info.register(
                rows((id, look) -> Stream.of(MultiGauge.Row.of(
                        Tags.of(WORKLOAD, id.brief(), "state", look.state(), "revision", BriefText.of(look.revision())),
                        1))),
                true);
    }

    private void show(MultiGauge gauge, Predicate<Look> flag) {
        gauge.register(
                rows((id, look) ->
                        Stream.of(MultiGauge.Row.of(Tags.of(WORKLOAD, id.brief()), flag.test(look) ? 1 : 0))),
                true);
    }

    private interface Rows {
        Stream<MultiGauge.Row<?>> of(WorkloadId id, Look look);
    }

    private List<MultiGauge.Row<?>> rows(Rows each) {
        List<MultiGauge.Row<?>> rows = new ArrayList<>();
        looks.forEach((id, look) -> each.of(id, look).forEach(rows::add));
        return rows;
    }

    @Override
    public void starting(Step step) {
        // What it changes is seen by the next look.
    }

    @Override
    public void finished(WorkloadId id, PassResult next) {
        // What was seen has been told.
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        // What was seen last stays until something else is.
    }
}
