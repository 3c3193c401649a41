package io.homeostat.reconcile.runtime.kata;

import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How one launch of a sandbox has been reached so far. */
final class Contact {
    private static final Logger LOG = LoggerFactory.getLogger(Contact.class);

    /** Above what a try takes whose calls are not answered. */
    private static final Backoff LEFT_OVER = Backoff.doubling(Duration.ofSeconds(15), Duration.ofMinutes(5));

    private boolean wasSilent;

    /** How often its agent has been asked for its metrics, as it counts; 0 when that is not known. */
    private long scrapes;

    private long written;

    private boolean isAgentLost;
    private boolean isLossWritten;

    /** Null as long as it was not reached by this process. */
    private @Nullable Instance reachedAs;

    private int leftOverTries;
    private long nextLeftOver;

    private boolean clockIsWrong;
    private boolean clockRefused;

    /** Its agent does not answer, or not all that it should. */
    synchronized void silent() {
        wasSilent = true;
    }

    /** It answers everything. One that did not before may have been held, and its clock with it. */
    synchronized void well(Instance instance) {
        if (reachedAs == null || wasSilent) {
            clockIsWrong = true;
        }
        reachedAs = instance;
        wasSilent = false;
    }

    /** It was made by this process, which has told it the time. */
    synchronized void made(Instance instance) {
        reachedAs = instance;
    }

    /** Whether this is the first time that it was not to be told the time. */
    synchronized boolean isClockNewlyRefused() {
        boolean newly = !clockRefused;
        clockRefused = true;
        return newly;
    }

    /** The launch that answers; empty as long as none has. */
    synchronized Optional<Instance> reached() {
        return Optional.ofNullable(reachedAs);
    }

    /**
     * The launch that answers and has containers to be removed; told again only after a while.
     *
     * @param now nanoseconds of any clock that goes on
     */
    synchronized Optional<Instance> leftOver(LeftOvers all, long now) {
        if (reachedAs == null || wasSilent || (leftOverTries > 0 && now - nextLeftOver < 0)) {
            return Optional.empty();
        }
        try {
            if (all.in(reachedAs).isEmpty()) {
                leftOverTries = 0;
                return Optional.empty();
            }
            leftOverTries++;
            nextLeftOver = now + LEFT_OVER.bound(leftOverTries).toNanos();
            return Optional.of(reachedAs);
        } catch (IOException e) {
            LOG.debug("[{}] {}", reachedAs.workload().brief(), e.getMessage());
            return Optional.empty();
        }
    }

    synchronized void clockIsWrong() {
        clockIsWrong = true;
    }

    /** The launch whose guest has to be told the time; it is told once. */
    synchronized Optional<Instance> clockToSet() {
        boolean due = clockIsWrong && reachedAs != null;
        clockIsWrong &= !due;
        return due ? Optional.ofNullable(reachedAs) : Optional.empty();
    }

    /** That another agent answers was seen before. */
    synchronized void agentIsLost() {
        isAgentLost = true;
        isLossWritten = true;
    }

    /** The launch of which it has to be written down that it has lost its agent; it is told once. */
    synchronized Optional<Instance> lossToWrite() {
        boolean due = isAgentLost && !isLossWritten && reachedAs != null;
        isLossWritten |= due;
        return due ? Optional.ofNullable(reachedAs) : Optional.empty();
    }

    /** A count that has to be written down. */
    record Scrapes(Instance instance, long count) {}

    /** What has not been written down yet; it is told once. */
    synchronized Optional<Scrapes> scrapesToWrite() {
        if (reachedAs == null || scrapes == written) {
            return Optional.empty();
        }
        written = scrapes;
        return Optional.of(new Scrapes(reachedAs, scrapes));
    }

    /** What is known from before, by whomever it was asked. */
    synchronized void scrapedBefore(long count) {
        scrapes = Math.max(scrapes, count);
    }

    /**
     * Whether another agent answers than before: it has been asked less often, when that was seen first. Later it may have been asked more
     * often than the other one was. One look after the other, because each is counted.
     *
     * @param ask asks it once more, and tells how often it was asked
     */
    synchronized boolean isAnotherAgent(Supplier<Observation<OptionalLong>> ask) {
        if (isAgentLost) {
            return true;
        }
        if (!(ask.get() instanceof Observation.Seen<OptionalLong>(OptionalLong count)) || count.isEmpty()) {
            return false;
        }
        if (count.getAsLong() <= scrapes) {
            isAgentLost = true;
            return true;
        }
        scrapes = count.getAsLong();
        return false;
    }
}
