package io.homeostat.reconcile.agent.frontend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import java.nio.file.Path;
import java.time.Instant;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;

class WorkloadLookTest {
    private static WorkloadLook parse(String json) throws JsonProcessingException {
        return WorkloadLook.of(new ObjectMapper().readTree(json));
    }

    @Test
    void aWorkloadThatRunsHasAProcess() throws JsonProcessingException {
        WorkloadLook look = parse("""
                {"workload": "process/app", "known": true, "running": true, "pid": 12, "startTicks": 34, "bootId": "b",
                 "startedAt": "2026-01-02T03:04:05Z", "problem": "slow", "restarts": 3, "log": "/log"}
                """);

        assertEquals(
                new WorkloadLook(
                        WorkloadId.parse("process/app").orElseThrow(),
                        true,
                        false,
                        new ProcessIdentity(12, 34, "b"),
                        Instant.parse("2026-01-02T03:04:05Z"),
                        null,
                        false,
                        "slow",
                        3,
                        Path.of("/log")),
                look);
    }

    @Test
    void aWorkloadThatIsOverHasAnEnd() throws JsonProcessingException {
        WorkloadLook look = parse("""
                {"workload": "process/app", "known": true, "over": true, "pid": 12, "fatal": true,
                 "exit": {"code": 3, "signal": 0, "reason": "EXITED", "at": "2026-01-02T03:04:05Z"}}
                """);

        assertTrue(look.over());
        assertTrue(look.fatal());
        assertNull(look.process());
        assertNull(look.startedAt());
        assertEquals(new WorkloadLook.End(3, 0, "EXITED", Instant.parse("2026-01-02T03:04:05Z")), look.end());
    }

    @Test
    void anEndWithoutAnExitStatusHasNone() throws JsonProcessingException {
        WorkloadLook.End end = parse("""
                {"workload": "process/app", "exit": {"code": null, "signal": 9, "reason": "x", "at": "2026-01-02T03:04:05Z"}}
                """).end();

        assertEquals(new WorkloadLook.End(null, 9, "x", Instant.parse("2026-01-02T03:04:05Z")), end);
    }

    @Test
    void aWorkloadThatTheAgentDoesNotKnowHasNothing() throws JsonProcessingException {
        WorkloadLook look = parse("{\"workload\": \"process/app\"}");

        assertFalse(look.known() || look.over() || look.fatal());
        assertNull(look.end());
        assertEquals("", look.problem());
    }

    @Test
    void theReasonOfAnEndTellsWhoseItIs() {
        assertTrue(end("OOM_KILLED").outOfMemory());
        assertFalse(end("STOPPED").outOfMemory());
        assertTrue(end("STOPPED").stopped());
        assertFalse(end("OOM_KILLED").stopped());
    }

    private static WorkloadLook.End end(String reason) {
        return new WorkloadLook.End(0, 0, reason, Instant.EPOCH);
    }

    @Test
    void whatNamesNoWorkloadIsNoAnswer() {
        assertThrows(NoSuchElementException.class, () -> parse("{\"workload\": \"nonsense\"}"));
    }
}
