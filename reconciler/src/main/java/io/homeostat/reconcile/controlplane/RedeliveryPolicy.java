package io.homeostat.reconcile.controlplane;

import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.desired.model.Redaction;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.desired.platform.Backoff;
import io.homeostat.desired.state.Outbox.Queued;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/** Decides from the control plane's answer what becomes of an event, and when it is sent again. For one thread. */
final class RedeliveryPolicy {
    private static final Backoff BACKOFF = Backoff.doubling(Duration.ofMillis(250), Duration.ofSeconds(32));

    /** How often an event is retried after a fault of the control plane that the event may cause: for about an hour. */
    private static final int MOST_FAULTS = 120;

    private static final int LONGEST_ANSWER = 200;

    private final int mostFaults;
    private final Map<Queued, Integer> retries = new HashMap<>();

    RedeliveryPolicy() {
        this(MOST_FAULTS);
    }

    RedeliveryPolicy(int mostFaults) {
        this.mostFaults = mostFaults;
    }

    /** What becomes of an event. */
    sealed interface Decision {
        /** The control plane has it. */
        record Delivered() implements Decision {}

        /** It is sent again after this delay, before any later one of its plugin. */
        record Retry(Duration delay) implements Decision {}

        /**
         * It is given up.
         *
         * @param why for people, without secrets
         */
        record Discard(String why) implements Decision {}
    }

    Decision decide(Queued event, Status status) {
        return switch (status.getCode()) {
            case Code.OK_VALUE -> new Decision.Delivered();
            // This event is not wanted.
            case Code.INVALID_ARGUMENT_VALUE, Code.OUT_OF_RANGE_VALUE, Code.ALREADY_EXISTS_VALUE ->
                new Decision.Discard(describe(event, status));
            // Now is not the time, or we are not welcome: another event would fare no better.
            case Code.RESOURCE_EXHAUSTED_VALUE,
                    Code.UNAVAILABLE_VALUE,
                    Code.ABORTED_VALUE,
                    Code.CANCELLED_VALUE,
                    Code.DEADLINE_EXCEEDED_VALUE,
                    Code.UNAUTHENTICATED_VALUE,
                    Code.PERMISSION_DENIED_VALUE -> retry(event);
            default ->
                retries.getOrDefault(event, 0) < mostFaults
                        ? retry(event)
                        : new Decision.Discard(describe(event, status));
        };
    }

    /** Forgets how often it was sent again. */
    void forget(Queued event) {
        retries.remove(event);
    }

    private Decision retry(Queued event) {
        return new Decision.Retry(BACKOFF.bound(retries.merge(event, 1, Integer::sum)));
    }

    private static String describe(Queued event, Status status) {
        Code code = Code.forNumber(status.getCode());
        String said = VisibleText.line(Redaction.text(status.getMessage()));
        return "event " + event.id() + " of " + event.plugin().brief() + " was refused: "
                + (code == null ? "status " + status.getCode() : code) + " "
                + VisibleText.cut(said, LONGEST_ANSWER);
    }
}
