package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LocalDiskTest {
    private final LocalDisk disk = new LocalDisk();

    @Test
    void aTreeIsSyncedAndOneThatIsNotThereIsNot(@TempDir Path directory) throws IOException {
        Files.writeString(directory.resolve("file"), "content");

        disk.syncTree(directory);

        Path missing = directory.resolve("missing");
        assertEquals(
                "opening " + missing + " failed with errno 2",
                assertThrows(IOException.class, () -> disk.syncTree(missing)).getMessage());
    }

    /** Deeper than the stack of a thread, the descriptors of a process and the longest path allow. */
    @Test
    void aTreeIsDeletedHoweverDeepItIsAndNoLinkInItIsFollowed(@TempDir Path directory) throws IOException {
        Path precious = Files.createDirectory(directory.resolve("precious"));
        Files.createFile(precious.resolve("file"));
        Path tree = directory.resolve("tree");
        Path deepest = Path.of("");
        for (int level = 0; level < 400; level++) {
            deepest = deepest.resolve("d");
        }
        for (int part = 0; part < 25; part++) {
            Path above = directory.resolve("part");
            Path end = Files.createDirectories(above.resolve(deepest));
            Files.createSymbolicLink(end.resolve("link"), precious);
            if (part > 0) {
                Files.move(tree, end.resolve("d"));
            }
            Files.move(above, tree);
        }

        disk.deleteTree(tree);

        assertFalse(Files.exists(tree));
        assertTrue(Files.exists(precious.resolve("file")));
    }

    @Test
    void whatComesIntoATreeWhileItIsDeletedGoesWithIt(@TempDir Path directory) throws Exception {
        for (int i = 0; i < 100; i++) {
            Path tree = Files.createDirectories(directory.resolve("tree " + i));
            for (int j = 0; j < 20; j++) {
                Files.createFile(tree.resolve("old " + j));
            }
            Thread other = Thread.ofPlatform().start(() -> {
                try {
                    for (int j = 0; j < 10; j++) {
                        Files.createFile(tree.resolve("new " + j));
                    }
                } catch (IOException e) {
                    assertInstanceOf(NoSuchFileException.class, e);
                }
            });

            disk.deleteTree(tree);

            other.join();
            assertFalse(Files.exists(tree));
        }
    }
}
