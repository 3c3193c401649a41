package io.homeostat.reconcile.agent.frontend;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Follows how workloads are for as long as this process lives; agents may come and go meanwhile. */
public final class WorkloadWatch {
    /** After which something is tried again first. */
    public static final Duration SHORTEST_PAUSE = Duration.ofMillis(100);

    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

    private final FrontEndAgent agent;
    private final Supplier<ImmutableList<WorkloadId>> wanted;
    private final Consumer<WorkloadLook> seen;
    private final Consumer<String> warn;
    private final Thread thread;
    private boolean changed;

    private WorkloadWatch(
            FrontEndAgent agent,
            Supplier<ImmutableList<WorkloadId>> wanted,
            Consumer<WorkloadLook> seen,
            Consumer<String> warn) {
        this.agent = agent;
        this.wanted = wanted;
        this.seen = seen;
        this.warn = warn;
        this.thread = Thread.ofVirtual().name("workloads").unstarted(this::watch);
    }

    /**
     * Begins. No agent is started as long as there is nothing to follow.
     *
     * @param wanted what to follow now
     * @param seen how one is, and each change; by one thread
     */
    public static WorkloadWatch begin(
            FrontEndAgent agent,
            Supplier<ImmutableList<WorkloadId>> wanted,
            Consumer<WorkloadLook> seen,
            Consumer<String> warn) {
        WorkloadWatch watch = new WorkloadWatch(agent, wanted, seen, warn);
        watch.thread.start();
        return watch;
    }

    /** There is something else to follow. */
    public synchronized void changed() {
        changed = true;
        notifyAll();
        thread.interrupt();
    }

    /** Waits for the first one, too. */
    private synchronized ImmutableList<WorkloadId> followed() throws InterruptedException {
        while (true) {
            changed = false;
            ImmutableList<WorkloadId> now = wanted.get();
            if (!now.isEmpty()) {
                return now;
            }
            while (!changed) {
                wait();
            }
        }
    }

    private void watch() {
        Duration pause = SHORTEST_PAUSE;
        while (true) {
            try {
                agent.follow(followed(), look -> {
                    seen.accept(look);
                    return true;
                });
                pause = SHORTEST_PAUSE;
            } catch (InterruptedException e) {
                // There are others to follow now.
                pause = SHORTEST_PAUSE;
            } catch (CommandFailure e) {
                warn.accept("how workloads are is not known for a moment: " + e.getMessage());
                pause = sleep(pause);
            }
        }
    }

    /** Returns how long to sleep the next time. */
    private static Duration sleep(Duration pause) {
        try {
            Thread.sleep(pause);
        } catch (InterruptedException e) {
            return SHORTEST_PAUSE;
        }
        return longer(pause);
    }

    /** How long to wait after that. */
    public static Duration longer(Duration pause) {
        Duration next = pause.multipliedBy(2);
        return next.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : next;
    }
}
