package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SparseFileTest {
    private static final int BLOCK = 64 << 10;
    private static final long TERABYTE = 1L << 40;

    @TempDir
    Path temp;

    @Test
    void holesAreFoundAndMadeAndTheSizeStays() throws IOException {
        Path file = temp.resolve("file");
        try (FileChannel out = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            out.write(ByteBuffer.wrap(new byte[] {1, 2, 3}), 4 * BLOCK);
        }
        try (SparseFile sparse = SparseFile.open(file)) {
            assertEquals(4 * BLOCK + 3, sparse.size());
            assertEquals(Files.getAttribute(file, "unix:ino"), sparse.inode());
            assertEquals(4 * BLOCK, sparse.nextData(0));
            assertEquals(4 * BLOCK + 3, sparse.endOfData(4 * BLOCK));
            ByteBuffer read = ByteBuffer.allocate(2);
            assertEquals(2, sparse.read(read, 4 * BLOCK + 1));
            assertEquals(ByteBuffer.wrap(new byte[] {2, 3}), read.flip());

            sparse.punch(0, 4 * BLOCK + 3);

            assertEquals(4 * BLOCK + 3, sparse.size());
            assertEquals(0, sparse.read(ByteBuffer.allocate(0), 0));
            ByteBuffer nulls = ByteBuffer.allocate(3);
            assertEquals(3, sparse.read(nulls, 4 * BLOCK));
            assertEquals(ByteBuffer.wrap(new byte[3]), nulls.flip());
            assertTrue(sparse.nextData(4 * BLOCK + 3) < 0, "there is nothing behind the end");
            assertEquals(5 * BLOCK, sparse.endOfData(5 * BLOCK));
            IOException refused = assertThrows(IOException.class, () -> sparse.punch(0, 0));
            assertTrue(String.valueOf(refused.getMessage()).contains(file.toString()), refused.getMessage());
        }
    }

    @Test
    void theEndOfDataIsFoundBackwardsOverAHoleOfTerabytes() throws IOException {
        Path file = Files.createFile(temp.resolve("file"));
        try (SparseFile sparse = SparseFile.read(file)) {
            assertEquals(0, sparse.endOfDataBefore(0));
            try (FileChannel out = FileChannel.open(file, StandardOpenOption.WRITE)) {
                out.write(ByteBuffer.wrap(new byte[BLOCK]), 3 * BLOCK);
                out.write(ByteBuffer.wrap(new byte[] {1}), TERABYTE);
            }
            assertEquals(TERABYTE + 1, sparse.endOfDataBefore(TERABYTE + 1));
            assertEquals(4 * BLOCK, sparse.endOfDataBefore(TERABYTE - BLOCK));
            assertEquals(4 * BLOCK - 1, sparse.endOfDataBefore(4 * BLOCK - 1));
            assertEquals(0, sparse.endOfDataBefore(3 * BLOCK));
            assertThrows(IOException.class, () -> sparse.punch(0, BLOCK));
        }
    }

    @Test
    void nothingButARegularFileIsOpened() throws Exception {
        Path link = Files.createSymbolicLink(temp.resolve("link"), Files.createFile(temp.resolve("file")));
        assertThrows(FileSystemException.class, () -> SparseFile.open(link));
        assertThrows(FileSystemException.class, () -> SparseFile.open(temp));
        assertThrows(NoSuchFileException.class, () -> SparseFile.open(temp.resolve("missing")));
        Path fifo = temp.resolve("fifo");
        assertEquals(0, new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor());
        assertThrows(FileSystemException.class, () -> SparseFile.open(fifo));
    }
}
