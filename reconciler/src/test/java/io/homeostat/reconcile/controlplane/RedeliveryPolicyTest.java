package io.homeostat.reconcile.controlplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Outbox.Queued;
import io.homeostat.reconcile.controlplane.RedeliveryPolicy.Decision;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RedeliveryPolicyTest {
    private static final Queued EVENT = new Queued(7, WorkloadId.plugin("a"));
    private static final int OFTEN = 100;

    private final RedeliveryPolicy policy = new RedeliveryPolicy(2);

    @Test
    void whatIsAcknowledgedIsTold() {
        assertEquals(new Decision.Delivered(), hear(Code.OK));
    }

    @ParameterizedTest
    @EnumSource(names = {"INVALID_ARGUMENT", "OUT_OF_RANGE", "ALREADY_EXISTS"})
    void anEventThatIsNotWantedIsLeftBehindAtOnce(Code code) {
        assertEquals(new Decision.Discard("event 7 of plugin/a was refused: " + code + " no"), hear(code));
    }

    @ParameterizedTest
    @EnumSource(
            names = {
                "RESOURCE_EXHAUSTED",
                "UNAVAILABLE",
                "ABORTED",
                "CANCELLED",
                "DEADLINE_EXCEEDED",
                "UNAUTHENTICATED",
                "PERMISSION_DENIED"
            })
    void whatNoEventCanHelpIsToldAgainForEver(Code code) {
        for (int i = 0; i < OFTEN; i++) {
            assertInstanceOf(Decision.Retry.class, hear(code));
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"INTERNAL", "UNKNOWN", "NOT_FOUND", "FAILED_PRECONDITION", "UNIMPLEMENTED", "DATA_LOSS"})
    void aFaultThatTheEventMayCauseIsBorneForAWhile(Code code) {
        assertInstanceOf(Decision.Retry.class, hear(code));
        assertInstanceOf(Decision.Retry.class, hear(code));
        assertInstanceOf(Decision.Discard.class, hear(code));
    }

    @Test
    void pausesGrowUpTo32SecondsAndBeginAnewWithAnotherEvent() {
        assertEquals(new Decision.Retry(Duration.ofMillis(250)), hear(Code.UNAVAILABLE));
        assertEquals(new Decision.Retry(Duration.ofMillis(500)), hear(Code.UNAVAILABLE));
        for (int i = 2; i < OFTEN; i++) {
            hear(Code.UNAVAILABLE);
        }
        assertEquals(new Decision.Retry(Duration.ofSeconds(32)), hear(Code.UNAVAILABLE));

        policy.forget(EVENT);
        assertEquals(new Decision.Retry(Duration.ofMillis(250)), hear(Code.UNAVAILABLE));
    }

    @Test
    void whatTheControlPlaneSaysIsShownWithoutSecretsAndWithinBounds() {
        Status status = Status.newBuilder()
                .setCode(Code.INVALID_ARGUMENT_VALUE)
                .setMessage("bad\u001b[31m\u2028https://b.example/x?sig=sesame " + "x".repeat(1_000))
                .build();

        Decision.Discard never = assertInstanceOf(Decision.Discard.class, policy.decide(EVENT, status));

        String said = "bad?[31m?https://b.example/x?... ";
        String expected =
                "event 7 of plugin/a was refused: INVALID_ARGUMENT " + said + "x".repeat(197 - said.length()) + "...";
        assertEquals(expected, never.why());
    }

    private Decision hear(Code code) {
        return policy.decide(
                EVENT,
                Status.newBuilder().setCode(code.getNumber()).setMessage("no").build());
    }
}
