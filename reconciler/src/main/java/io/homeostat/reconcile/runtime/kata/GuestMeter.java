package io.homeostat.reconcile.runtime.kata;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.usage.Meter;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** Measures by what the agent of a guest counts. It is asked in the background: the answer is what the next measurement tells. */
final class GuestMeter implements Meter {
    /** How long an agent may take to answer. */
    static final Duration TIMEOUT = Duration.ofSeconds(5);

    /**
     * What an agent tells.
     *
     * @param processorNanos since the launch, or since whenever as long as that is the same
     * @param memoryBytes now
     */
    record Use(long processorNanos, long memoryBytes) {}

    /** How it is asked, which may take as long as the timeout. */
    interface Question {
        /** Empty when it does not tell, or has nothing to tell. */
        Optional<Use> ask(Instance launch);
    }

    /** What was told, and when. */
    private record Answer(String launchId, long at, Use use) {}

    private final Question question;
    private final Ticker ticker;
    private final Executor executor;
    private @Nullable Answer told;
    private volatile @Nullable Answer answer;
    private volatile boolean asking;

    GuestMeter(Question question) {
        this(
                question,
                Ticker.systemTicker(),
                command -> Thread.ofVirtual().name("usage of a guest").start(command));
    }

    /** @param executor runs the question */
    GuestMeter(Question question, Ticker ticker, Executor executor) {
        this.question = question;
        this.ticker = ticker;
        this.executor = executor;
    }

    @Override
    public Optional<Measured> measure(ImmutableList<Instance> launches, Duration interval, Processes processes) {
        Instance launch = launches.getLast();
        if (!asking) {
            asking = true;
            executor.execute(() -> ask(launch));
        }
        Answer now = answer;
        Answer before = told;
        if (now == null || now.equals(before) || !now.launchId().equals(launch.launchId())) {
            return Optional.empty();
        }
        told = now;
        long memory = now.use().memoryBytes();
        if (before == null || !before.launchId().equals(now.launchId())) {
            return Optional.of(new Measured(0, null, memory));
        }
        long worked = now.use().processorNanos() - before.use().processorNanos();
        return Optional.of(new Measured(now.at() - before.at(), Math.max(0, worked), memory));
    }

    private void ask(Instance launch) {
        try {
            question.ask(launch).ifPresent(use -> answer = new Answer(launch.launchId(), ticker.read(), use));
        } finally {
            asking = false;
        }
    }
}
