package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
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
}
