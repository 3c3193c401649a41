package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RuntimeLogTest {
    private static final int LONG = 100_000;

    private Path file;
    private RuntimeLog log;

    @BeforeEach
    void open(@TempDir Path directory) throws IOException {
        file = Files.createFile(directory.resolve("log"));
        log = RuntimeLog.open(file);
    }

    @AfterEach
    void close() throws IOException {
        log.close();
    }

    private void append(String text) throws IOException {
        Files.writeString(file, text, StandardOpenOption.APPEND);
    }

    private static String exit(long pid, int status) {
        return "{\"level\":\"debug\",\"msg\":\"process exited\",\"pid\":" + pid + ",\"status\":" + status + "}\n";
    }

    @Test
    void theStatusIsThatOfTheProcess() throws IOException {
        append(exit(71, 1) + exit(17, 2) + "{\"level\":\"debug\",\"msg\":\"7\"}\n");
        assertEquals(Optional.empty(), log.statusOf(7));

        append(exit(7, 3));
        assertEquals(Optional.of(3), log.statusOf(7));

        append(exit(7, 4));
        assertEquals(Optional.of(3), log.statusOf(7), "another process may have the number then");
    }

    @Test
    void aLineIsReadOnceItIsWhole() throws IOException {
        String line = exit(7, 3);
        append("7 is no JSON\n" + line.substring(0, 20));
        assertEquals(Optional.empty(), log.statusOf(7));

        append(line.substring(20));
        assertEquals(Optional.of(3), log.statusOf(7));
    }

    @Test
    void theFileDoesNotGrowWithWhatIsWritten() throws IOException {
        for (int i = 0; i < 20; i++) {
            append(exit(1, 0).repeat(1000));
            assertEquals(Optional.empty(), log.statusOf(7));
            assertTrue(
                    Files.size(file) <= LONG,
                    () -> "it is large: " + file.toFile().length());
        }
        append(exit(7, 3));
        assertEquals(Optional.of(3), log.statusOf(7));

        append(exit(1, 0).repeat(2000));
        assertEquals(Optional.of(3), log.statusOf(7));
        assertEquals(0, Files.size(file));
    }

    @Test
    void aLineWithoutAnEndIsForgotten() throws IOException {
        append("x".repeat(LONG) + "\n" + exit(7, 3));

        assertEquals(Optional.of(3), log.statusOf(7));
    }

    @Test
    void theEndOfALongLogIsRead() throws IOException {
        append("x".repeat(LONG) + "\nlast\n");

        assertTrue(log.end().endsWith("x\nlast\n"));
        assertTrue(log.end().length() < LONG);
    }
}
