package io.homeostat.desired.channel;

import io.homeostat.desired.platform.Backoff;
import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * How long a channel waits for what.
 *
 * @param registration for the answer to RegisterConnection
 * @param acknowledgement of a message of ours, before it is sent again
 * @param exhausted n times this after the n-th RESOURCE_EXHAUSTED for a message
 * @param renewal the longest life of a stream; see {@link #lifetime}
 * @param healthy how long a stream has to last so that the next one is opened without delay
 * @param reconnect after streams that broke off or never came about
 * @param refused after the control plane has refused us
 */
record ChannelTiming(
        Duration registration,
        Duration acknowledgement,
        Duration exhausted,
        Duration renewal,
        Duration healthy,
        Backoff reconnect,
        Backoff refused) {
    /** The random part of a stream's life: agents that connected together must not always renew their streams together. */
    private static final int JITTER_SHARE = 12;

    /** Full jitter may mean no delay at all; this share of the bound keeps us from hammering the control plane. */
    private static final int LEAST_SHARE = 10;

    /** What control planes expect; the backoff is ours. */
    static final ChannelTiming DEFAULT = new ChannelTiming(
            Duration.ofSeconds(10),
            Duration.ofSeconds(2),
            Duration.ofMillis(250),
            Duration.ofMinutes(60),
            Duration.ofSeconds(20),
            Backoff.doubling(Duration.ofMillis(500), Duration.ofSeconds(30)),
            Backoff.doubling(Duration.ofSeconds(10), Duration.ofMinutes(5)));

    /** How long one stream lasts: of an hour between 55 and 60 min, the most that control planes expect. */
    Duration lifetime(RandomGenerator random) {
        long longest = renewal.toMillis();
        return Duration.ofMillis(longest - random.nextLong(longest / JITTER_SHARE + 1));
    }

    /** How long to wait after a stream before opening the next one. */
    Duration delay(StreamOutcome end, int failures, RandomGenerator random) {
        return switch (end) {
            case StreamOutcome.Renewed() when failures == 0 -> Duration.ZERO;
            case StreamOutcome.Renewed() -> delay(reconnect, failures, random);
            case StreamOutcome.Failed failed ->
                delay(failed.cause().isRefusal() ? refused : reconnect, failures, random);
        };
    }

    private static Duration delay(Backoff backoff, int failures, RandomGenerator random) {
        return backoff.delay(failures, backoff.bound(failures).dividedBy(LEAST_SHARE), random);
    }
}
