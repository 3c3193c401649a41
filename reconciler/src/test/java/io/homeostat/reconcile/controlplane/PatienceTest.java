package io.homeostat.reconcile.controlplane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.google.rpc.Code;
import com.google.rpc.Status;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Outbox.Queued;
import io.homeostat.reconcile.controlplane.Patience.Verdict;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PatienceTest {
    private static final Queued EVENT = new Queued(7, WorkloadId.plugin("a"));
    private static final int OFTEN = 100;

    private final Patience patience = new Patience(2);

    @Test
    void whatIsAcknowledgedIsTold() {
        assertEquals(new Verdict.Told(), hear(Code.OK));
    }

    @ParameterizedTest
    @EnumSource(names = {"INVALID_ARGUMENT", "OUT_OF_RANGE", "ALREADY_EXISTS"})
    void anEventThatIsNotWantedIsLeftBehindAtOnce(Code code) {
        assertEquals(new Verdict.Never("event 7 of plugin/a was refused: " + code + " no"), hear(code));
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
            assertInstanceOf(Verdict.Later.class, hear(code));
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"INTERNAL", "UNKNOWN", "NOT_FOUND", "FAILED_PRECONDITION", "UNIMPLEMENTED", "DATA_LOSS"})
    void aFaultThatTheEventMayCauseIsBorneForAWhile(Code code) {
        assertInstanceOf(Verdict.Later.class, hear(code));
        assertInstanceOf(Verdict.Later.class, hear(code));
        assertInstanceOf(Verdict.Never.class, hear(code));
    }

    @Test
    void pausesGrowUpTo32SecondsAndBeginAnewWithAnotherEvent() {
        assertEquals(new Verdict.Later(Duration.ofMillis(250)), hear(Code.UNAVAILABLE));
        assertEquals(new Verdict.Later(Duration.ofMillis(500)), hear(Code.UNAVAILABLE));
        for (int i = 2; i < OFTEN; i++) {
            hear(Code.UNAVAILABLE);
        }
        assertEquals(new Verdict.Later(Duration.ofSeconds(32)), hear(Code.UNAVAILABLE));

        patience.over(EVENT);
        assertEquals(new Verdict.Later(Duration.ofMillis(250)), hear(Code.UNAVAILABLE));
    }

    @Test
    void whatTheControlPlaneSaysIsShownWithoutSecretsAndWithinBounds() {
        Status status = Status.newBuilder()
                .setCode(Code.INVALID_ARGUMENT_VALUE)
                .setMessage("bad\u001b[31m https://b.example/x?sig=sesame " + "x".repeat(1_000))
                .build();

        Verdict.Never never = assertInstanceOf(Verdict.Never.class, patience.hear(EVENT, status));

        String said = "bad [31m https://b.example/x?... ";
        String expected = "event 7 of plugin/a was refused: INVALID_ARGUMENT " + said + "x".repeat(200 - said.length());
        assertEquals(expected, never.why());
    }

    private Verdict hear(Code code) {
        return patience.hear(
                EVENT,
                Status.newBuilder().setCode(code.getNumber()).setMessage("no").build());
    }
}
