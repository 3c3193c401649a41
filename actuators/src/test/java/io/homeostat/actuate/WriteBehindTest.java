package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.observe.process.Libc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class WriteBehindTest {
    @Test
    void theKernelTakesTheRequestAndTheFileStaysAsItIs(@TempDir Path directory) throws IOException {
        Path file = Files.write(directory.resolve("file"), new byte[17 << 20]);

        new WriteBehind(file).written(17 << 20);

        int descriptor = Libc.open(file.toString());
        assertEquals(0, Libc.startWriting(descriptor, 0, 17 << 20));
        assertEquals(0, Libc.close(descriptor));
        assertEquals(17 << 20, Files.size(file));
    }

    @Test
    void whatIsNotThereIsLeftToWhoeverMakesItDurable(@TempDir Path directory) {
        new WriteBehind(directory.resolve("missing")).written(1L << 30);

        assertTrue(Libc.startWriting(-1, 0, 1) < 0);
    }
}
