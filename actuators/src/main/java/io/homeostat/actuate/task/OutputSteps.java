package io.homeostat.actuate.task;

import io.homeostat.observe.process.PinnedFile;
import io.homeostat.observe.process.SparseFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/** The steps of copying that change something; a test ends the copying before or after any of them. */
interface OutputSteps {
    /** Creates an empty file for us alone; nothing may have its name. */
    void create(Path file) throws IOException;

    /** Writes all at a position. */
    void write(FileChannel file, ByteBuffer bytes, long position) throws IOException;

    void truncate(FileChannel file, long size) throws IOException;

    /** Gives what has been copied back to the disk. */
    void punch(SparseFile source, long from, long to) throws IOException;

    void delete(Path file) throws IOException;

    static OutputSteps ofTheKernel() {
        return new OutputSteps() {
            @Override
            public void create(Path file) throws IOException {
                PinnedFile.create(file).close();
            }

            @Override
            public void write(FileChannel file, ByteBuffer bytes, long position) throws IOException {
                long at = position;
                while (bytes.hasRemaining()) {
                    at += file.write(bytes, at);
                }
            }

            @Override
            public void truncate(FileChannel file, long size) throws IOException {
                file.truncate(size);
            }

            @Override
            public void punch(SparseFile source, long from, long to) throws IOException {
                source.punch(from, to);
            }

            @Override
            public void delete(Path file) throws IOException {
                Files.deleteIfExists(file);
            }
        };
    }
}
