package io.homeostat.observe;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogObserverTest {
    @TempDir
    Path directory;

    private final LogObserver observer = new LogObserver();
    private Path log;
    private Process writer;

    @BeforeEach
    void startWriter() throws IOException {
        log = directory.resolve("plugin.log");
        writer = new ProcessBuilder("sleep", "300")
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
    }

    @AfterEach
    void endWriter() throws InterruptedException {
        writer.destroyForcibly().waitFor();
    }

    @Test
    void aLogThatIsWrittenToIsPresent() {
        assertPresent(true);
    }

    @Test
    void aDeletedLogIsNot() throws IOException {
        Files.delete(log);
        assertPresent(false);
    }

    @Test
    void aLogThatWasMadeAgainIsNotTheOneThatIsWrittenTo() throws IOException {
        Files.delete(log);
        Files.createFile(log);
        assertPresent(false);
    }

    @Test
    void aLogWhoseDirectoryIsGoneIsNotPresent() throws IOException {
        assertEquals(Observation.seen(false), observer.present(directory.resolve("gone/plugin.log"), writer.pid()));
    }

    @Test
    void aLinkIsNoLog() throws IOException {
        Path elsewhere = Files.createFile(directory.resolve("elsewhere"));
        Path link = Files.createSymbolicLink(directory.resolve("link.log"), elsewhere);
        assertEquals(Observation.seen(false), observer.present(link, writer.pid()));
    }

    @Test
    void aLogReachedThroughALinkedDirectoryIsTheSame() throws IOException {
        Path linked = Files.createSymbolicLink(directory.resolve("linked"), directory);
        Path through = linked.resolve("plugin.log");
        assertEquals(Observation.seen(true), observer.present(through, writer.pid()));
        Files.delete(log);
        Files.createFile(log);
        assertEquals(Observation.seen(false), observer.present(through, writer.pid()));
    }

    @Test
    void aProcessThatWritesElsewhereIsBelieved() throws IOException {
        Path other = Files.createFile(directory.resolve("other.log"));
        assertEquals(Observation.seen(true), observer.present(other, writer.pid()));
    }

    private void assertPresent(boolean expected) {
        assertEquals(Observation.seen(expected), observer.present(log, writer.pid()));
    }
}
