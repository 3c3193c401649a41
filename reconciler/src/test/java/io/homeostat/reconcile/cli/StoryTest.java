package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.collect.ImmutableList;
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
import org.junit.jupiter.api.Test;
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

    @Test
    void ofEachCommandAStorySaysSomethingThatIsSo() {
        Story.Line command = new Story.Line("$", "status");
        Story.Line not = new Story.Line("!", "RUNNING");
        Story.Line status = new Story.Line("=", "0");

        assertEquals(
                ImmutableList.of(command, not, status),
                new Story("s", "t", ImmutableList.of(command, not, status)).lines());
        for (ImmutableList<Story.Line> lines :
                ImmutableList.of(ImmutableList.of(command, not), ImmutableList.of(command, command, status))) {
            assertThrows(IllegalArgumentException.class, () -> new Story("s", "t", lines));
        }
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
