package io.homeostat.observe.health;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.SocketException;
import java.nio.file.AccessDeniedException;
import org.junit.jupiter.api.Test;

class OurFaultTest {
    @Test
    void aRightADescriptorOrMemoryThatWeLackIsOurFault() {
        assertTrue(OurFault.is(new BindException("Keine Berechtigung")));
        assertTrue(OurFault.is(new AccessDeniedException("/run/p.sock")));
        assertTrue(OurFault.is(new SocketException("Too many open files")));
        assertTrue(OurFault.is(new IOException("error=12, Cannot allocate memory")));
    }

    @Test
    void whatTheOtherSideDoesIsNot() {
        assertFalse(OurFault.is(new ConnectException("Connection refused")));
        assertFalse(OurFault.is(new SocketException("Connection reset")));
        assertFalse(OurFault.is(new IOException()));
    }
}
