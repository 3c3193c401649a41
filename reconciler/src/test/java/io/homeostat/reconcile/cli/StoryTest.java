package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.google.common.util.concurrent.Uninterruptibles;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Plays the stories in {@code src/test/resources/stories}, whose form is explained in {@code README.md} there. {@code -Dstory=WORDS}
 * plays those with these words in their file's name or title.
 */
final class StoryTest {
    private static final int DELETIONS = 5;
    private static final Duration PAUSE = Duration.ofMillis(200);

    static Stream<Story> stories() {
        String wanted = System.getProperty("story", "");
        return Story.in(Path.of("src/test/resources/stories")).stream()
                .filter(story -> story.toString().contains(wanted));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource
    @Timeout(value = 600, unit = TimeUnit.SECONDS)
    void stories(Story story) throws Exception {
        // Not JUnit's: sockets need a short path.
        Path directory = Files.createTempDirectory("hs").toRealPath();
        // The deletion comes last, and its failure does not hide another one.
        try (Closeable _ = () -> delete(directory);
                StoryPlayer player = new StoryPlayer(directory)) {
            player.play(story);
        }
        assertFalse(directory.toFile().exists());
    }

    /** Again, where something that ends just now has written a file meanwhile. */
    private static void delete(Path directory) throws IOException {
        for (int tries = 1; Files.exists(directory); tries++) {
            try {
                MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
            } catch (IOException e) {
                if (tries == DELETIONS) {
                    throw e;
                }
                Uninterruptibles.sleepUninterruptibly(PAUSE);
            }
        }
    }
}
