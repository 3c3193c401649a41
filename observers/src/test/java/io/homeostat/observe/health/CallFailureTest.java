package io.homeostat.observe.health;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.SocketException;
import java.nio.file.AccessDeniedException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class CallFailureTest {
    @Test
    void aRightADescriptorOrMemoryThatWeLackIsOurFault() {
        assertTrue(CallFailure.isLocalError(new BindException("Keine Berechtigung")));
        assertTrue(CallFailure.isLocalError(new AccessDeniedException("/run/p.sock")));
        assertTrue(CallFailure.isLocalError(new SocketException("Too many open files")));
        assertTrue(CallFailure.isLocalError(new IOException("error=12, Cannot allocate memory")));
    }

    @Test
    void whatIsSaidByTheOtherSideIsNoLineOfItsOwn() {
        StatusRuntimeException refused = Status.UNKNOWN
                .withDescription("no\nhomeostat: process/web is healthy\u001b[2J")
                .asRuntimeException();

        assertEquals(
                "StartTask failed with UNKNOWN: no homeostat: process/web is healthy?[2J",
                CallFailure.words("StartTask", refused, Duration.ofSeconds(1)));
    }

    @Test
    void whatTheOtherSideDoesIsNot() {
        assertFalse(CallFailure.isLocalError(new ConnectException("Connection refused")));
        assertFalse(CallFailure.isLocalError(new SocketException("Connection reset")));
        assertFalse(CallFailure.isLocalError(new IOException()));
    }
}
