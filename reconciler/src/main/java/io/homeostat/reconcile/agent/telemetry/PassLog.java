package io.homeostat.reconcile.agent.telemetry;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs what passes do: a line when a step ends, and one when a workload reaches its desired state or gets stuck. A pass that finds
 * nothing to do, or a known halt, is logged at debug.
 */
public final class PassLog implements PassListener {
    private static final Logger LOG = LoggerFactory.getLogger(PassLog.class);

    /** What was last logged of a workload. */
    private sealed interface Logged {
        record UnderWay() implements Logged {}

        record Stuck(Reason reason) implements Logged {}

        record Converged() implements Logged {}
    }

    private final Ticker ticker;
    private final Map<WorkloadId, Logged> logged = new ConcurrentHashMap<>();
    /** When steps began; one that fetches goes on while others are done. */
    private final Map<Step, Long> begun = new ConcurrentHashMap<>();

    public PassLog(Ticker ticker) {
        this.ticker = ticker;
    }

    @Override
    public void starting(Step step) {
        LOG.debug("{} begins", step.word());
        logged.put(step.workload(), new Logged.UnderWay());
        begun.put(step, ticker.read());
    }

    @Override
    public void finished(WorkloadId id, PassResult next) {
        @Nullable Logged before = logged.get(id);
        switch (next) {
            case PassResult.Again again -> {
                Long since = begun.remove(again.step());
                stepped(again, since == null ? ticker.read() : since);
            }
            case PassResult.Settled settled -> {
                begun.keySet().removeIf(step -> step.workload().equals(id));
                boolean gone = settled.plan().before() == null && settled.plan().after() == null;
                if (before == null || before instanceof Logged.Converged) {
                    LOG.debug("all is well");
                } else {
                    LOG.info(gone ? "nothing is left of it" : "converged");
                }
                if (gone) {
                    logged.remove(id);
                } else {
                    logged.put(id, new Logged.Converged());
                }
            }
            case PassResult.UnderWay underWay ->
                LOG.debug("{} goes on", underWay.step().word());
            case PassResult.Later later -> halted(id, later, before);
        }
    }

    private void stepped(PassResult.Again again, long since) {
        String step = again.step().word();
        String time = time(ticker.read() - since);
        switch (again.outcome()) {
            case Outcome.Done done -> LOG.info("{} done in {}{}", step, time, after(": ", done.note()));
            case Outcome.Unsupported unsupported -> LOG.info("{} is not supported by it ({})", step, time);
            case Outcome.Interrupted interrupted -> LOG.info("{} broken off after {}", step, time);
            case Outcome.Failed(FailureCause cause, String error, boolean fatal) ->
                LOG.warn("{} failed after {}: {}{}", step, time, error, fatal ? " (trying again can't help)" : "");
        }
    }

    private void halted(WorkloadId id, PassResult.Later later, @Nullable Logged before) {
        switch (later.until().kind()) {
            case PROGRESS -> LOG.debug("waits: {}", later.until().why());
            case RETRY, DECLARATION -> {
                Logged.Stuck now = new Logged.Stuck(later.plan().reason());
                if (now.equals(before)) {
                    LOG.debug("still stuck: {}", later.until().why());
                } else {
                    LOG.warn("stuck: {}", later.until().why());
                }
                logged.put(id, now);
            }
        }
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        // The loop has logged it, with where it happened.
    }

    private static String after(String mark, String note) {
        return note.isEmpty() ? "" : mark + note;
    }

    private static String time(long nanos) {
        long millis = TimeUnit.NANOSECONDS.toMillis(nanos);
        return millis < 1000 ? millis + " ms" : String.format(Locale.ROOT, "%.1f s", millis / 1000.0);
    }
}
