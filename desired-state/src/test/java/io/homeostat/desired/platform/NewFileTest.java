package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NewFileTest {
    @TempDir
    Path directory;

    private Path precious = Path.of("");
    private Path part = Path.of("");

    @BeforeEach
    void setUp() throws IOException {
        precious = Files.writeString(directory.resolve("precious"), "precious");
        Files.setPosixFilePermissions(precious, PosixFilePermissions.fromString("rw-------"));
        part = NewFile.beside(directory.resolve("file"));
    }

    private void exchange() throws IOException {
        Files.deleteIfExists(part);
        Files.createSymbolicLink(part, precious);
    }

    @Test
    void whatTakesItsPlaceIsNotWrittenTo() throws IOException {
        try (FileChannel out = NewFile.create(part)) {
            exchange();
            out.write(ByteBuffer.wrap(new byte[] {1}));
        }

        assertEquals("precious", Files.readString(precious));
        assertThrows(FileAlreadyExistsException.class, () -> NewFile.create(part));
    }

    @Test
    void itIsForItsOwnerUnlessItIsCreatedForOthers() throws IOException {
        NewFile.create(part).close();
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(part)));

        Path other = NewFile.beside(directory.resolve("file"));
        assertFalse(part.equals(other));
        NewFile.create(other, PosixFilePermissions.fromString("rw-r--r--")).close();
        assertEquals("rw-r--r--", PosixFilePermissions.toString(Files.getPosixFilePermissions(other)));
    }
}
