package io.homeostat.desired.channel;

import java.time.Duration;

/**
 * How long a channel waits for what.
 *
 * @param registration for the answer to RegisterConnection
 * @param acknowledgement for that of a message of ours, before it is sent again
 * @param exhausted once, twice, ... so long after the first, second, ... RESOURCE_EXHAUSTED for a message
 * @param renewal until a stream is replaced by a new one
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
    /** What control planes expect; the pauses are ours. */
    static final Timing DEFAULT = new Timing(
            Duration.ofSeconds(10),
            Duration.ofSeconds(2),
            Duration.ofMillis(250),
            Duration.ofMinutes(60),
            Duration.ofSeconds(20),
            new Pauses(Duration.ofMillis(500), Duration.ofSeconds(30)),
            new Pauses(Duration.ofSeconds(10), Duration.ofMinutes(5)));
}
