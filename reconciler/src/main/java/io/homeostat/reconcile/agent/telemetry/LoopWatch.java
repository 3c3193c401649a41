package io.homeostat.reconcile.agent.telemetry;

import com.github.benmanes.caffeine.cache.Ticker;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StoreException;
import io.homeostat.reconcile.loop.PassId;
import io.homeostat.reconcile.loop.PassListener;
import io.homeostat.reconcile.loop.PassResult;
import io.homeostat.reconcile.plan.Step;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Knows whether the loop is stuck. It is when
 *
 * <ul>
 *   <li>its heartbeat, which takes the way that passes take, has stayed away: no pass begins any more;
 *   <li>a pass takes longer than looking and planning can; a step may take as long as its own limits say;
 *   <li>the last pass of a workload broke off because the store could not be read or written;
 *   <li>the store could not be written when that was last tried.
 * </ul>
 *
 * Asking never waits for anybody, least of all for what is being watched.
 */
public final class LoopWatch implements PassListener {
    /** The loop goes round every 10 s; a busy machine may be late, but not this late. */
    static final Duration LONGEST_SILENCE = Duration.ofSeconds(30);

    /** Looking at a workload waits for a probe or a plugin's answer, a minute if somebody is patient. */
    static final Duration LONGEST_LOOK = Duration.ofMinutes(3);

    private final Ticker ticker;
    private final Map<WorkloadId, Long> looking = new ConcurrentHashMap<>();
    private final Map<WorkloadId, String> storeProblems = new ConcurrentHashMap<>();
    private volatile @Nullable String unwritable;
    private volatile long lastBeat;

    public LoopWatch(Ticker ticker) {
        this.ticker = ticker;
        this.lastBeat = ticker.read();
    }

    /** The loop goes round: given to the {@code Reconciler}. */
    public void beat() {
        lastBeat = ticker.read();
    }

    @Override
    public void begun(PassId pass) {
        looking.put(pass.workload(), ticker.read());
    }

    @Override
    public void starting(Step step) {
        looking.remove(step.workload());
    }

    @Override
    public void finished(WorkloadId id, PassResult next) {
        looking.remove(id);
        storeProblems.remove(id);
    }

    @Override
    public void broken(WorkloadId id, Throwable problem) {
        looking.remove(id);
        if (problem instanceof StoreException) {
            storeProblems.put(id, String.valueOf(problem.getMessage()));
        } else {
            storeProblems.remove(id);
        }
    }

    /** It was tried whether the store can be written. */
    public void storeTried(@Nullable StoreException problem) {
        unwritable = problem == null ? null : String.valueOf(problem.getMessage());
    }

    /** Whether passes begin at all. If not, a new agent helps; it would not against a disk that is full. */
    public boolean goesRound() {
        return !isTooLong(ticker.read() - lastBeat);
    }

    private static boolean isTooLong(long silent) {
        return silent > LONGEST_SILENCE.toNanos();
    }

    /** Why the loop is stuck; empty when it isn't. */
    public Optional<String> problem() {
        long now = ticker.read();
        long silent = now - lastBeat;
        if (isTooLong(silent)) {
            return Optional.of("the loop has begun no pass for "
                    + Duration.ofNanos(silent).toSeconds() + " s; restart the agent, its workloads go on running");
        }
        for (Map.Entry<WorkloadId, Long> entry : looking.entrySet()) {
            long looked = now - entry.getValue();
            if (looked > LONGEST_LOOK.toNanos()) {
                return Optional.of("a pass over " + entry.getKey() + " has not got beyond looking for "
                        + Duration.ofNanos(looked).toSeconds() + " s");
            }
        }
        @Nullable String store = unwritable;
        if (store == null) {
            store = storeProblems.values().stream().findFirst().orElse(null);
        }
        return Optional.ofNullable(store).map(why -> "the store fails: " + why);
    }
}
