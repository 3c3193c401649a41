package io.homeostat.desired.channel;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * How long a channel waits for what.
 *
 * @param registration for the answer to RegisterConnection
 * @param acknowledgement for that of a message of ours, before it is sent again
 * @param exhausted once, twice, ... so long after the first, second, ... RESOURCE_EXHAUSTED for a message
 * @param renewal until a stream is replaced by a new one, at most; see {@link #lifetime}
 * @param healthy how long a stream has to last so that the next one is opened without a pause
 * @param troubled the pauses after streams that broke off or never came about
 * @param refused the pauses after a control plane said that it does not want us
 */
record Timing(
        Duration registration,
        Duration acknowledgement,
        Duration exhausted,
        Duration renewal,
        Duration healthy,
        Pauses troubled,
        Pauses refused) {
    /** The agents of a control plane that was restarted come all at once; they must not all renew their streams at once, for ever. */
    private static final int JITTER_SHARE = 12;

    /** What control planes expect; the pauses are ours. */
    static final Timing DEFAULT = new Timing(
            Duration.ofSeconds(10),
            Duration.ofSeconds(2),
            Duration.ofMillis(250),
            Duration.ofMinutes(60),
            Duration.ofSeconds(20),
            new Pauses(Duration.ofMillis(500), Duration.ofSeconds(30)),
            new Pauses(Duration.ofSeconds(10), Duration.ofMinutes(5)));

    /** How long one stream lasts: of an hour between 55 and 60 min, since control planes expect no longer ones. */
    Duration lifetime(RandomGenerator random) {
        long longest = renewal.toMillis();
        return Duration.ofMillis(longest - random.nextLong(longest / JITTER_SHARE + 1));
    }
}
