package io.homeostat.reconcile.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableSet;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProgramFilesTest {
    private static final Duration HOUR = Duration.ofHours(1);

    @TempDir
    Path directory;

    @Test
    void whatWasChangedSinceTheLaunchIsFoundButNotWhatIsYetToChangeByAClockThatIsBehind() throws IOException {
        Path library = Files.createFile(directory.resolve("a.jar"));
        Instant now = Instant.now();

        assertEquals(Optional.of(library), changed(library, now));
        assertEquals(Optional.empty(), changed(library, now.plus(HOUR).plus(HOUR)));
        assertEquals(Optional.empty(), changed(library, now.minus(HOUR).minus(HOUR)));
    }

    private static Optional<Path> changed(Path file, Instant about) throws IOException {
        return ProgramFiles.changed(ImmutableSet.of(file), about.minus(HOUR), about.plus(HOUR));
    }
}
