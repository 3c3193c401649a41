package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.Iterables;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.state.Instance;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which call of this process a guest has not answered. Its agent does most things one at a time, so that all others may wait for that one,
 * also when we do no more. It is written down for those who look, who are other processes.
 */
final class Unanswered {
    /** Of calls that only take their time nothing is said. */
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    /** Each is another one, also where all of it is the same. */
    static final class Call {
        private final String method;
        private final Instant since;

        private Call(String method, Instant since) {
            this.method = method;
            this.since = since;
        }

        String words() {
            return method + ", asked for at " + since + ", is not answered";
        }
    }

    private final InstantSource clock;

    /** In their order. */
    private final Set<Call> underWay = new LinkedHashSet<>();

    /** The first that we don't wait for any more, until an answer shows that the agent does something. */
    private @Nullable Call givenUp;

    private @Nullable Instance sandbox;
    private @Nullable Call written;

    /** Not of another sandbox, nor by a process before this one. */
    private boolean isWritten;

    Unanswered(InstantSource clock) {
        this.clock = clock;
    }

    /** Says what the guest is. */
    synchronized void isOf(Instance known) {
        if (sandbox == null || !sandbox.launchId().equals(known.launchId())) {
            sandbox = known;
            givenUp = null;
            isWritten = false;
        }
    }

    synchronized Call ask(String method) {
        Call call = new Call(method, clock.instant());
        underWay.add(call);
        return call;
    }

    /** Also with a refusal, or because nobody is there any more. */
    synchronized void answered(Call call) {
        underWay.remove(call);
        givenUp = null;
    }

    synchronized void givenUp(Call call) {
        if (underWay.remove(call) && givenUp == null) {
            givenUp = call;
        }
    }

    /** The one that others may wait for; null when there is none. */
    private @Nullable Call first() {
        Call first = givenUp == null ? Iterables.getFirst(underWay, null) : givenUp;
        return first == null || first.since.plus(PATIENCE).isAfter(clock.instant()) ? null : first;
    }

    /**
     * Writes down what is not so yet.
     *
     * @param by which kind of ours has asked
     */
    synchronized void write(SandboxNotes notes, Kind by) throws ActuationFailure {
        Call first = first();
        if (sandbox != null && (!isWritten || first != written)) {
            notes.writeUnanswered(sandbox, by, Optional.ofNullable(first).map(Call::words));
            written = first;
            isWritten = true;
        }
    }
}
