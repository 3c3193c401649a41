package io.homeostat.reconcile.runtime.kata;

import com.google.common.collect.ImmutableSet;
import io.grpc.StatusRuntimeException;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.guest.GuestFailure;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Which call of this process a guest has not answered. Its agent does most things one at a time, so that all others may wait for that one,
 * also when we do no more. It is written down for those who look, who are other processes.
 */
final class Unanswered {
    /** Of calls that only take their time nothing is said. */
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    /** The most calls that are kept: only the first one is written down. */
    private static final int MOST = 100;

    /** What agents do beside everything else: such a call holds up no other, and its answer says nothing of others. */
    private static final ImmutableSet<String> ALONE = ImmutableSet.of("CopyFile", "SetGuestDateTime");

    /** Each is another one, also where all of it is the same. */
    private static final class Call {
        private final String method;
        private final Instant since;
        private boolean givenUp;

        private Call(String method, Instant since) {
            this.method = method;
            this.since = since;
        }

        private String words() {
            return method + ", asked for at " + since + ", is not answered";
        }
    }

    private final InstantSource clock;
    private final SandboxNotes notes;
    private final Kind by;

    /** In their order; also those that we don't wait for any more, until the answer to a later one shows that they are over. */
    private final Set<Call> calls = new LinkedHashSet<>();

    private @Nullable Instance sandbox;
    private @Nullable Call written;

    /** Not of another sandbox, nor by a process before this one. */
    private boolean isWritten;

    /** @param by which kind of ours asks */
    Unanswered(InstantSource clock, SandboxNotes notes, Kind by) {
        this.clock = clock;
        this.notes = notes;
        this.by = by;
    }

    /** Says what the guest is. */
    synchronized void isOf(Instance known) {
        if (sandbox == null || !sandbox.launchId().equals(known.launchId())) {
            sandbox = known;
            calls.removeIf(call -> call.givenUp);
            isWritten = false;
        }
    }

    /**
     * Makes a call.
     *
     * @throws StatusRuntimeException as the call does
     */
    <A> A during(String method, Supplier<A> call) {
        if (ALONE.contains(method)) {
            return call.get();
        }
        Call asked = ask(method);
        Outcome outcome = Outcome.OVER;
        try {
            A answer = call.get();
            outcome = Outcome.ANSWERED;
            return answer;
        } catch (StatusRuntimeException e) {
            outcome = switch (GuestFailure.of(e).kind()) {
                case SILENT, OURS -> Outcome.GIVEN_UP;
                case NO_CONTAINER, NO_PROCESS, REFUSED, BUSY -> Outcome.ANSWERED;
                case LOST, DENIED, NOT_SUPPORTED -> Outcome.OVER;
            };
            throw e;
        } finally {
            over(asked, outcome);
        }
    }

    private enum Outcome {
        /** The agent has done something, so that what it was asked for before is over, too. */
        ANSWERED,
        /** Nothing is known by it of what else it does. */
        OVER,
        GIVEN_UP
    }

    private synchronized Call ask(String method) {
        Call call = new Call(method, clock.instant());
        calls.add(call);
        return call;
    }

    private synchronized void over(Call call, Outcome outcome) {
        if (outcome == Outcome.GIVEN_UP) {
            call.givenUp = true;
            if (calls.size() > MOST) {
                calls.remove(call);
            }
            return;
        }
        if (outcome == Outcome.OVER) {
            calls.remove(call);
            return;
        }
        for (Iterator<Call> earlier = calls.iterator(); earlier.hasNext(); ) {
            Call one = earlier.next();
            if (one == call) {
                earlier.remove();
                return;
            }
            if (one.givenUp) {
                earlier.remove();
            }
        }
    }

    /** Returns the number of calls that are kept. */
    synchronized int kept() {
        return calls.size();
    }

    /** Writes down what is not so yet. */
    synchronized void write() throws ActuationFailure {
        Call first = calls.stream()
                .findFirst()
                .filter(call -> !call.since.plus(PATIENCE).isAfter(clock.instant()))
                .orElse(null);
        if (sandbox != null && (!isWritten || first != written)) {
            notes.writeUnanswered(sandbox, by, Optional.ofNullable(first).map(Call::words));
            written = first;
            isWritten = true;
        }
    }

    /** This process asks for nothing any more. */
    synchronized void close() throws ActuationFailure {
        if (sandbox != null && written != null) {
            notes.writeUnanswered(sandbox, by, Optional.empty());
            written = null;
        }
    }
}
