package io.homeostat.actuate.limits;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** What can be done to control groups, cgroups(7); a test has a kernel of its own. */
interface ControlFiles {
    /** Makes a group, or leaves one that is there. */
    void makeGroup(Path group) throws IOException;

    /** Writes to a file of a group, which the kernel takes as a command. */
    void write(Path file, String text) throws IOException;

    /** Removes a group that has neither processes nor groups in it; nothing there is fine. */
    void removeGroup(Path group) throws IOException;

    /** The kernel's own. */
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
                // Never made: a file that the kernel does not offer is an error.
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
