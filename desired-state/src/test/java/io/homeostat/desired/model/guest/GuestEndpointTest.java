package io.homeostat.desired.model.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Endpoints of guests as they are written. */
class GuestEndpointTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "unix:///run/kata/agent.sock",
                "vsock://3:1024",
                "vsock://0:0",
                "vsock://4294967294:4294967294",
                "hvsock:///run/guest/vm.sock:1024",
                "hvsock:///run/with:colon.sock:1024",
            })
    void whatIsWrittenIsWrittenAgain(String text) {
        assertEquals(text, GuestEndpoint.parse(text).toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            tcp://127.0.0.1:1024     | is no endpoint of a guest; write vsock://CID:1024, hvsock:///PATH:1024 or unix:///PATH
            /run/agent.sock          | is no endpoint of a guest
            vsock://3                | is no endpoint of a guest
            hvsock:///run/vm.sock    | is no endpoint of a guest
            unix://run/agent.sock    | has no absolute path; write three slashes
            hvsock://vm.sock:1024    | has no absolute path
            vsock://-3:1024          | '-3' in 'vsock://-3:1024' is no CID, which is a number up to 4294967294
            vsock://4294967295:1024  | is no CID
            vsock://3:99999999999    | is no port
            vsock://3:               | is no port
            hvsock:///run/vm.sock:x  | 'x' in 'hvsock:///run/vm.sock:x' is no port
            """)
    void whatIsNoneIsRefusedWithWhatWouldBeRight(String text, String why) {
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> GuestEndpoint.parse(text));

        assertTrue(String.valueOf(refused.getMessage()).contains(why), refused.getMessage());
    }

    @Test
    void aPathThatNoSocketCanHaveIsRefused() {
        String longest = "/" + "x".repeat(106);
        assertEquals(new GuestEndpoint.Unix(longest), GuestEndpoint.parse("unix://" + longest));

        assertThrows(IllegalArgumentException.class, () -> GuestEndpoint.parse("unix://" + longest + "x"));
        assertThrows(IllegalArgumentException.class, () -> GuestEndpoint.parse("unix:///a\0b"));
    }

    @Test
    void theLogOfAnAgentIsAtAnotherPortOfTheSameGuest() {
        assertEquals(
                Optional.of(GuestEndpoint.parse("vsock://3:1025")),
                GuestEndpoint.parse("vsock://3:1024").withPort(GuestEndpoint.LOG_PORT));
        assertEquals(
                Optional.of(GuestEndpoint.parse("hvsock:///a:1025")),
                GuestEndpoint.parse("hvsock:///a:1024").withPort(GuestEndpoint.LOG_PORT));
        assertEquals(Optional.empty(), GuestEndpoint.parse("unix:///a").withPort(GuestEndpoint.LOG_PORT));
    }
}
