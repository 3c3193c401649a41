package io.homeostat.reconcile.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;

class JournalEntryTest {
    @Test
    void whatAPluginLogsHasItsLevelAndIsReadable() {
        Map.of("error", 3, "warn", 4, "info", 6, "debug", 7, "trace", 7, "unknown", 6, "WARN", 4)
                .forEach((level, priority) -> assertEquals(
                        new JournalEntry(priority, "runner: it failed"),
                        JournalEntry.of(
                                "{\"@level\":\"" + level + "\",\"@message\":\"it failed\",\"@module\":\"runner\","
                                        + "\"@timestamp\":\"2026-11-20T12:00:00.000Z\"}")));
    }

    @Test
    void whatElseItSaysFollows() {
        assertEquals(
                new JournalEntry(4, "started {\"task_id\":\"a/web\",\"pid\":7}"),
                JournalEntry.of("{\"@message\":\"started\",\"task_id\":\"a/web\",\"pid\":7,\"@level\":\"warn\"}"));
    }

    @Test
    void nobodyCanForgeAnotherFieldOfTheJournal() {
        assertEquals(
                new JournalEntry(6, "a PRIORITY=0"),
                JournalEntry.of("{\"@level\":\"info\",\"@message\":\"a\\nPRIORITY=0\"}"));
    }

    @Test
    void anyOtherLineIsTakenAsItStands() {
        for (String line : new String[] {
            "",
            "plain",
            "{",
            "{\"@level\":\"error\",",
            "{\"@level\":\"error\"}",
            "{\"@level\":1,\"@message\":\"a\"}",
            "{\"@level\":\"error\",\"@message\":[]}",
            "{\"level\":\"error\",\"message\":\"a\"}",
            "{\"@level\":" + "[".repeat(5_000)
        }) {
            assertEquals(new JournalEntry(6, line), JournalEntry.of(line));
        }
    }
}
