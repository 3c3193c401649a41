package io.homeostat.observe.watch;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableSet;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.watch.WatchedTree.Change;
import io.homeostat.observe.watch.WatchedTree.Gap;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WatchedTreeTest {
    private static final Duration DEADLINE = Duration.ofSeconds(30);

    @TempDir
    Path temp;

    private Path desired;
    private WatchedTree tree;

    @BeforeEach
    void watchADirectory() throws IOException {
        desired = Files.createDirectory(temp.resolve("desired.d"));
        Files.writeString(desired.resolve("old.yaml"), "kind: Process");
        tree = new WatchedTree(ImmutableSet.of(desired));
        assumeTrue(Libc.hasNoWriter(desired.resolve("old.yaml").toString()), "this file system grants no leases");
    }

    @AfterEach
    void stop() throws IOException {
        tree.close();
    }

    @Test
    void aNewFileThatNobodyWritesHasArrived() throws IOException {
        move("new.yaml");
        assertEquals(Change.ARRIVAL, next());
    }

    @Test
    void aNewFileThatSomebodyWritesHasNot() throws IOException {
        Path file = temp.resolve("written");
        try (Writer writer = Files.newBufferedWriter(file, StandardOpenOption.CREATE)) {
            writer.write("kind: Pro");
            writer.flush();
            Files.move(file, desired.resolve("new.yaml"));
            assertEquals(Change.CONTENT, next());
        }
    }

    @Test
    void aFileThatReplacesAnotherHasNot() throws IOException {
        move("old.yaml");
        assertEquals(Change.CONTENT, next());
    }

    @Test
    void aPipeHasNot() throws Exception {
        assertEquals(
                0,
                new ProcessBuilder("mkfifo", desired.resolve("new.yaml").toString())
                        .inheritIO()
                        .start()
                        .waitFor());
        assertEquals(Change.CONTENT, next());
    }

    @Test
    void whatComesBackAfterItsEndHasArrived() throws IOException {
        Files.delete(desired.resolve("old.yaml"));
        assertEquals(Change.CONTENT, next());
        move("old.yaml");
        assertEquals(Change.ARRIVAL, next());
    }

    @Test
    void whatComesTwiceIsNewOnce() throws IOException {
        move("new.yaml");
        assertEquals(Change.ARRIVAL, next());
        move("new.yaml");
        assertEquals(Change.CONTENT, next());
    }

    @Test
    void whatIsInADirectoryThatHasTheNameOfAFileIsNobodysConcern() throws IOException {
        tree.close();
        tree = WatchedTree.ofFiles(ImmutableSet.of(desired));
        Files.writeString(desired.resolve("new.yaml"), "kind: Process");
        Files.move(desired, temp.resolve("moved"));

        assertEquals(Change.STRUCTURE, next());
    }

    @Test
    void noMoreFilesAreRememberedThanThereShouldBe() throws IOException {
        Files.writeString(desired.resolve("other.yaml"), "kind: Process");
        tree.close();
        tree = new WatchedTree(ImmutableSet.of(desired), true, 2);
        assertEquals(ImmutableSet.of(), tree.gaps().keySet());

        Files.writeString(desired.resolve("third.yaml"), "kind: Process");
        tree.close();
        tree = new WatchedTree(ImmutableSet.of(desired), true, 2);

        assertEquals(
                ImmutableSet.of(new Gap(Gap.Kind.TOO_MANY, null)), tree.gaps().keySet());
    }

    private void move(String name) throws IOException {
        Path whole = Files.writeString(temp.resolve("whole"), "kind: Process");
        // A process that another test starts holds this JVM's descriptors until its exec.
        await().atMost(DEADLINE).until(() -> Libc.hasNoWriter(whole.toString()));
        Files.move(whole, desired.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    }

    private Change next() {
        return await().atMost(DEADLINE)
                .until(() -> tree.await(Duration.ofMillis(100)), change -> change != Change.NONE);
    }
}
