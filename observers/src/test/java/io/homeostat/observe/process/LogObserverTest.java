package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.observe.Observation;
import io.homeostat.observe.process.LostFiles.LogObserver;
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

    private final LogObserver observer = new LogObserver(new ProcFs());
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
        assertEquals(
                Observation.seen(false),
                observer.present(directory.resolve("gone/plugin.log"), launch(), writer.pid()));
    }

    @Test
    void aLinkInItsPlaceIsSomebodysChoice() throws IOException {
        Path elsewhere = Files.createFile(directory.resolve("elsewhere"));
        Path link = Files.createSymbolicLink(directory.resolve("link.log"), elsewhere);
        assertEquals(Observation.seen(true), observer.present(link, launch(), writer.pid()));
    }

    @Test
    void aLogReachedThroughALinkedDirectoryIsTheSame() throws IOException {
        Path linked = Files.createSymbolicLink(directory.resolve("linked"), directory);
        Path through = linked.resolve("plugin.log");
        assertEquals(Observation.seen(true), observer.present(through, launch(), writer.pid()));
        Files.delete(log);
        Files.createFile(log);
        assertEquals(Observation.seen(false), observer.present(through, launch(), writer.pid()));
    }

    @Test
    void aProcessThatWritesElsewhereIsBelieved() throws IOException {
        Path other = Files.createFile(directory.resolve("other.log"));
        assertEquals(Observation.seen(true), observer.present(other, launch(), writer.pid()));
    }

    @Test
    void aProcessThatHasNotOpenedItsLogYetHasNotLostIt() throws IOException {
        LaunchDirectory young = new LaunchDirectory(Files.createDirectory(directory.resolve("young")));
        Files.move(log, young.outputFile());
        assertEquals(Observation.seen(true), observer.present(log, young, writer.pid()));
    }

    @Test
    void aProcessWhoseOutputIsForUsWritesItsErrorsToItsLog() throws Exception {
        LaunchDirectory launch = new LaunchDirectory(Files.createDirectory(directory.resolve("of-a-driver")));
        Process speaking = new ProcessBuilder("sleep", "300")
                .redirectOutput(launch.outputFile().toFile())
                .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
        try {
            assertEquals(Observation.seen(true), observer.present(log, launch, speaking.pid()));
            Files.delete(log);
            assertEquals(Observation.seen(false), observer.present(log, launch, speaking.pid()));
            Files.createFile(log);
            assertEquals(Observation.seen(false), observer.present(log, launch, speaking.pid()));
        } finally {
            speaking.destroyForcibly().waitFor();
        }
    }

    @Test
    void aLogThatWasMovedAwayIsLost() throws IOException {
        Files.move(log, directory.resolve("elsewhere.log"));
        assertPresent(false);
    }

    private LaunchDirectory launch() {
        return new LaunchDirectory(directory.resolve("launch"));
    }

    private void assertPresent(boolean expected) {
        assertEquals(Observation.seen(expected), observer.present(log, launch(), writer.pid()));
    }
}
