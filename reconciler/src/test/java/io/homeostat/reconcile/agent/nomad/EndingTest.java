package io.homeostat.reconcile.agent.nomad;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.history.Exit;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.agent.frontend.WorkloadLook.End;
import java.nio.file.Path;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests how the end of a task is reported to Nomad. */
class EndingTest {
    private static final Instant AT = Instant.ofEpochSecond(1000);

    @ParameterizedTest
    @CsvSource({
        "0, 0, EXITED, 0, 0, false, true",
        "3, 0, EXITED, 3, 0, false, true",
        ", 15, SIGNALED, 143, 15, false, true",
        "7, 15, SIGNALED, 7, 15, false, true",
        ", 0, OOM_KILLED, 137, 9, true, true",
        ", 15, OOM_KILLED, 143, 15, true, true",
        "1, 0, OOM_KILLED, 1, 0, true, true",
        ", 0, STOPPED, 0, 0, false, true",
        ", 0, UNKNOWN, -1, 0, false, false"
    })
    void anEndIsAnExitCodeASignalAndWhetherMemoryRanOut(
            @Nullable Integer code,
            int signal,
            Exit.Reason reason,
            int exitCode,
            int exitSignal,
            boolean outOfMemory,
            boolean known) {
        Ending ending = Ending.of(new End(code, signal, reason.name(), AT));

        assertEquals(exitCode, ending.result().getExitCode());
        assertEquals(exitSignal, ending.result().getSignal());
        assertEquals(outOfMemory, ending.result().getOomKilled());
        assertEquals(known, ending.error().isEmpty());
        assertEquals(AT, ending.at());
    }

    @Test
    void aLookWithoutAnEndHasNone() {
        WorkloadLook look =
                new WorkloadLook(NomadBench.workload(), true, false, null, null, null, false, "", 0, Path.of("/log"));
        assertNull(Ending.of(look));

        WorkloadLook ended = NomadBench.restarted(look, 0, NomadBench.exit(3));
        assertEquals(Ending.of(NomadBench.exit(3)), Ending.of(ended));
    }

    @Test
    void itsWordsTellWhatIsKnown() {
        String plain = Ending.of(NomadBench.exit(3)).words();
        assertTrue(plain.contains("3"));
        assertFalse(plain.contains("signal"));
        assertNotEquals(plain, Ending.of(new End(3, 9, "SIGNALED", AT)).words());
        assertNotEquals(plain, Ending.of(new End(3, 0, "OOM_KILLED", AT)).words());

        Ending unknown = Ending.unknown("it was removed", AT);
        assertEquals("it was removed", unknown.words());
        assertEquals(-1, unknown.result().getExitCode());
        assertEquals(AT, unknown.at());
    }
}
