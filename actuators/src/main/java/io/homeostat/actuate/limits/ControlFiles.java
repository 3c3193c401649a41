package io.homeostat.actuate.limits;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Operations on control groups, cgroups(7); a test fakes the kernel. */
interface ControlFiles {
    /** Creates a group unless it exists. */
    void makeGroup(Path group) throws IOException;

    /** Writes to a file of a group, which the kernel takes as a command. */
    void write(Path file, String text) throws IOException;

    /** Removes a group without processes and subgroups, if it exists. */
    void removeGroup(Path group) throws IOException;

    /** The real ones. */
    static ControlFiles ofTheKernel() {
        return new ControlFiles() {
            @Override
            public void makeGroup(Path group) throws IOException {
                try {
                    Files.createDirectory(group);
                } catch (FileAlreadyExistsException e) {
                    if (!Files.isDirectory(group)) {
                        throw e;
                    }
                }
            }

            @Override
            public void write(Path file, String text) throws IOException {
                // Never created: a file that the kernel does not offer is an error.
                Files.write(
                        file,
                        text.getBytes(StandardCharsets.US_ASCII),
                        StandardOpenOption.WRITE,
                        StandardOpenOption.TRUNCATE_EXISTING);
            }

            @Override
            public void removeGroup(Path group) throws IOException {
                Files.deleteIfExists(group);
            }
        };
    }
}
