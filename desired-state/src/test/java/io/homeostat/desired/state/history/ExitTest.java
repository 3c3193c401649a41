package io.homeostat.desired.state.history;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ExitTest {
    @Test
    void wantOfMemoryIsSaidOfTheProcessOrOfItsTree() {
        assertEquals("exited with status 137, out of memory", outOfMemory(137, 9));
        assertEquals(
                "exited with status 7 after a process of its tree was killed, out of memory", outOfMemory(7, null));
    }

    private static String outOfMemory(Integer code, @Nullable Integer signal) {
        return new Exit(code, signal, Exit.Reason.OOM_KILLED, Instant.EPOCH).words();
    }
}
