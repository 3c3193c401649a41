package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PipeEndTest {
    @TempDir
    private Path directory;

    private static ByteBuffer text(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void aFileIsAppendedTo() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "a");
        try (PipeEnd end = new PipeEnd(file.toString())) {
            assertEquals(1, end.write(text("b")));
        }
        assertEquals("ab", Files.readString(file));
    }

    @Test
    void nothingIsWrittenWithoutAReaderNorCreated() throws Exception {
        Path pipe = directory.resolve("pipe");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
        try (PipeEnd end = new PipeEnd(pipe.toString());
                PipeEnd none = new PipeEnd(directory.resolve("none").toString())) {
            assertEquals(0, end.write(text("b")));
            assertEquals(0, none.write(text("b")));
        }
        assertTrue(Files.notExists(directory.resolve("none")));
    }

    @Test
    void nobodyIsLedToAnotherFile() throws IOException {
        Path secret = Files.writeString(directory.resolve("secret"), "a");
        Path link = Files.createSymbolicLink(directory.resolve("link"), secret);
        Path device = Path.of("/dev/null");
        for (Path wrong : new Path[] {link, directory, device}) {
            try (PipeEnd end = new PipeEnd(wrong.toString())) {
                assertThrows(FileSystemException.class, () -> end.write(text("b")), wrong::toString);
            }
        }
        Path name = Files.createLink(directory.resolve("name"), secret);
        try (PipeEnd end = new PipeEnd(name.toString())) {
            assertThrows(FileSystemException.class, () -> end.write(text("b")));
        }
        assertEquals("a", Files.readString(secret));
    }
}
