package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.opentest4j.TestAbortedException;

final class WithoutKataAgentTest {
    @ParameterizedTest
    @CsvSource({
        "'', HOMEOSTAT_KATA_AGENT does not name the program of a Kata agent",
        "/nonexistent/kata-agent, HOMEOSTAT_KATA_AGENT: /nonexistent/kata-agent is no file that can be executed",
        "/etc/passwd, HOMEOSTAT_KATA_AGENT: /etc/passwd is no file that can be executed"
    })
    void theTestsAreSkippedWithTheReason(String program, String reason) {
        KataAgent agent = KataAgent.published(program);

        TestAbortedException skipped = assertThrows(TestAbortedException.class, agent::orSkip);

        assertEquals(reason, skipped.getMessage());
    }
}
