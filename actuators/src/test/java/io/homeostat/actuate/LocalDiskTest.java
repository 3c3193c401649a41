package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

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
