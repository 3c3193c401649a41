package io.homeostat.reconcile.controlplane;

import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.state.Outbox.Queued;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/** What becomes of an event by the control plane's answer, and how long one waits that is to be told again. For one thread. */
final class Patience {
    private static final Duration FIRST_PAUSE = Duration.ofMillis(250);
    /** Up to 32 s. */
    private static final int MOST_DOUBLINGS = 7;

    /** How often an event is put off because of a fault of the control plane, which this event may cause: for about an hour. */
    private static final int FAULTS_BORNE = 120;

    private static final int MOST_WORDS = 200;

    private final int faultsBorne;
    private final Map<Queued, Integer> delays = new HashMap<>();

    Patience() {
        this(FAULTS_BORNE);
    }

    Patience(int faultsBorne) {
        this.faultsBorne = faultsBorne;
    }

    /** What becomes of an event. */
    sealed interface Verdict {
        /** The control plane has it. */
        record Told() implements Verdict {}

        /** It is told again after this pause, before any later one of its plugin. */
        record Later(Duration pause) implements Verdict {}

        /**
         * It is left behind.
         *
         * @param why for people, without secrets
         */
        record Never(String why) implements Verdict {}
    }

    Verdict hear(Queued event, Status status) {
        return switch (status.getCode()) {
            case Code.OK_VALUE -> new Verdict.Told();
            // It is the event that is not wanted.
            case Code.INVALID_ARGUMENT_VALUE, Code.OUT_OF_RANGE_VALUE, Code.ALREADY_EXISTS_VALUE ->
                new Verdict.Never(words(event, status));
            // It is the moment that is wrong, or who we are: another event would fare no better.
            case Code.RESOURCE_EXHAUSTED_VALUE,
                    Code.UNAVAILABLE_VALUE,
                    Code.ABORTED_VALUE,
                    Code.CANCELLED_VALUE,
                    Code.DEADLINE_EXCEEDED_VALUE,
                    Code.UNAUTHENTICATED_VALUE,
                    Code.PERMISSION_DENIED_VALUE -> putOff(event);
            default ->
                delays.getOrDefault(event, 0) < faultsBorne ? putOff(event) : new Verdict.Never(words(event, status));
        };
    }

    /** Forgets how often it was put off. */
    void over(Queued event) {
        delays.remove(event);
    }

    private Verdict putOff(Queued event) {
        int before = delays.merge(event, 1, Integer::sum) - 1;
        return new Verdict.Later(FIRST_PAUSE.multipliedBy(1L << Math.min(before, MOST_DOUBLINGS)));
    }

    private static String words(Queued event, Status status) {
        Code code = Code.forNumber(status.getCode());
        String said = Redaction.text(status.getMessage()).replaceAll("\\p{Cntrl}", " ");
        return "event " + event.id() + " of " + event.plugin() + " was refused: "
                + (code == null ? "status " + status.getCode() : code) + " "
                + said.substring(0, Math.min(said.length(), MOST_WORDS));
    }
}
