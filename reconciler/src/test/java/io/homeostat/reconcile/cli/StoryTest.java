package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertFalse;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import java.nio.file.Files;
import java.nio.file.Path;
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
    static Stream<Story> stories() {
        String wanted = System.getProperty("story", "");
        return Story.in(Path.of("src/test/resources/stories")).stream()
                .filter(story -> story.toString().contains(wanted));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void stories(Story story) throws Exception {
        // Not JUnit's: sockets need a short path.
        Path directory = Files.createTempDirectory("hs").toRealPath();
        try (StoryPlayer player = new StoryPlayer(directory)) {
            player.play(story);
        } finally {
            MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
        }
        assertFalse(directory.toFile().exists());
    }
}
