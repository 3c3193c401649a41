package io.homeostat.desired.state.history;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.state.history.FailureCause.Kind;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FailureCauseTest {
    @ParameterizedTest
    @CsvSource({
        "EXITED, 3, , EXITED, 3",
        "EXITED, , , EXITED, 0",
        "EXITED, 3, 9, EXITED, 3",
        "SIGNALED, , 9, SIGNALED, 9",
        "SIGNALED, 137, 9, SIGNALED, 9",
        "SIGNALED, 137, , SIGNALED, 0",
        "OOM_KILLED, 137, 9, OUT_OF_MEMORY, 0",
        "OOM_INFERRED, 137, 9, OUT_OF_MEMORY, 0",
        "STOPPED, 0, , STOPPED, 0",
        "TIMED_OUT, 143, 15, TIMED_OUT, 0",
        "GUEST_GONE, , , GUEST_LOST, 0",
        "GUEST_BOOTED, , , GUEST_LOST, 0",
        "DRIVER_GONE, , , END_UNKNOWN, 0",
        "UNKNOWN, , , END_UNKNOWN, 0",
    })
    void anExitIsTheCauseOfAFailure(
            Exit.Reason reason, @Nullable Integer code, @Nullable Integer signal, Kind kind, int expected) {
        assertEquals(new FailureCause(kind, expected), FailureCause.of(new Exit(code, signal, reason, Instant.EPOCH)));
    }

    @Test
    void aCauseWithoutACodeHasZero() {
        assertEquals(new FailureCause(Kind.TLS, 0), FailureCause.of(Kind.TLS));
    }
}
