package io.homeostat.observe.guest;

import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.observe.guest.UnreachableGuest.Reason;
import io.homeostat.observe.ttrpc.TtrpcChannel;
import io.homeostat.observe.ttrpc.Wire;
import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A connection to the agent of a guest that is made again when it breaks. A call that is not answered in time is no reason for that: a
 * slow guest is not a dead one, and what is under way over there would be given up with the connection.
 */
public final class GuestConnection implements AutoCloseable {
    /** How one is made. */
    public interface Dialer {
        Wire connect(GuestEndpoint endpoint, Duration timeout) throws UnreachableGuest;
    }

    /** Guests boot in seconds, and whoever waits for one wants to know soon. */
    private static final Backoff BACKOFF = Backoff.doubling(Duration.ofMillis(100), Duration.ofSeconds(5));

    /** How long a connection holds that is a good one. */
    private static final Duration SETTLED = Duration.ofSeconds(10);

    private static final Duration FLOOR = Duration.ofMillis(50);

    /** Above what Kata's own client gives to a handshake with a monitor. */
    private static final Duration TIMEOUT = Duration.ofSeconds(15);

    private final GuestEndpoint endpoint;
    private final Dialer dialer;
    private final ScheduledExecutorService timer;
    private final LongSupplier nanoTime;
    private final RandomGenerator random;

    /** Held by whoever connects, and not while anything else is done: it may take as long as the time limit. */
    private final ReentrantLock connecting = new ReentrantLock();

    private @Nullable TtrpcChannel channel;
    private @Nullable UnreachableGuest failure;
    /** In a row, of connections that could not be made or did not hold. */
    private int failures;

    private long connectedAt;
    private long nextTry;
    private boolean closed;

    /**
     * Connects when it is first used.
     *
     * @param timer for deadlines of calls; not closed
     */
    public GuestConnection(
            GuestEndpoint endpoint,
            Dialer dialer,
            ScheduledExecutorService timer,
            LongSupplier nanoTime,
            RandomGenerator random) {
        this.endpoint = endpoint;
        this.dialer = dialer;
        this.timer = timer;
        this.nanoTime = nanoTime;
        this.random = random;
    }

    /**
     * The channel as it is now. Connects where there is none; whoever comes meanwhile waits for that. When that has failed, and for a
     * while after, the same failure is told again.
     */
    public TtrpcChannel channel() throws UnreachableGuest {
        TtrpcChannel known = known();
        if (known != null) {
            return known;
        }
        connecting.lock();
        try {
            known = known();
            return known == null ? connect() : known;
        } finally {
            connecting.unlock();
        }
    }

    /** Null when one should be made now. */
    private synchronized @Nullable TtrpcChannel known() throws UnreachableGuest {
        if (closed) {
            throw ended();
        }
        TtrpcChannel known = channel;
        if (known != null) {
            if (known.isOpen()) {
                return known;
            }
            channel = null;
            lost();
        }
        UnreachableGuest last = failure;
        if (last != null && nanoTime.getAsLong() - nextTry < 0) {
            throw last;
        }
        return null;
    }

    /**
     * One that has held is made again at once, and so is the first one that did not: its guest may just have booted anew. A second one is
     * as good as none.
     */
    private void lost() {
        if (nanoTime.getAsLong() - connectedAt >= SETTLED.toNanos()) {
            failures = 0;
            failure = null;
        } else if (failures == 0) {
            failures = 1;
        } else {
            failed(new UnreachableGuest(
                    Reason.REFUSED,
                    endpoint + ": whoever listens there closes each connection soon; look at the agent's log",
                    null));
        }
    }

    private void failed(UnreachableGuest why) {
        failure = why;
        failures++;
        nextTry = nanoTime.getAsLong() + BACKOFF.delay(failures, FLOOR, random).toNanos();
    }

    private TtrpcChannel connect() throws UnreachableGuest {
        try {
            TtrpcChannel made = new TtrpcChannel(dialer.connect(endpoint, TIMEOUT), endpoint.toString(), timer);
            synchronized (this) {
                if (!closed) {
                    channel = made;
                    connectedAt = nanoTime.getAsLong();
                    return made;
                }
            }
            made.close();
            throw ended();
        } catch (UnreachableGuest e) {
            synchronized (this) {
                failed(e);
            }
            throw e;
        }
    }

    private UnreachableGuest ended() {
        return new UnreachableGuest(Reason.NOT_TRIED, endpoint + ": the connection was given up by us", null);
    }

    /** Calls that are under way fail. */
    @Override
    public synchronized void close() {
        closed = true;
        if (channel != null) {
            channel.close();
            channel = null;
        }
    }
}
