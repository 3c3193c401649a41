package io.homeostat.observe.limits;

import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Reads the small files in which the kernel tells something, of which an agent reads hundreds at a time. */
public final class KernelFile {
    /** More than a line of stat(5) takes. */
    private static final int USUAL_BYTES = 1024;

    /** Two million processes of a control group, or 100,000 mounts, which is fs.mount-max. */
    private static final int MOST_BYTES = 16 << 20;

    private KernelFile() {}

    /**
     * The content of such a file, with fewer system calls than {@link Files#readAllBytes}, which asks for a size that these do not have.
     *
     * @throws FileSystemException also when it is longer than any: of some files users decide how long they are
     */
    public static byte[] bytes(Path file) throws IOException {
        byte[] bytes = new byte[USUAL_BYTES];
        int length = 0;
        try (InputStream in = open(file)) {
            for (int more = 0; more >= 0; more = in.read(bytes, length, bytes.length - length)) {
                length += more;
                if (length >= MOST_BYTES) {
                    throw new FileSystemException(file.toString(), null, "it is longer than any such file should be");
                }
                if (length == bytes.length) {
                    bytes = Arrays.copyOf(bytes, 2 * length);
                }
            }
            return Arrays.copyOf(bytes, length);
        }
    }

    /** The same, for whoever does not want all of it at once. */
    public static InputStream open(Path file) throws IOException {
        try {
            return new FileInputStream(file.toFile());
        } catch (FileNotFoundException e) {
            // For whatever reason; this one says for which.
            return Files.newInputStream(file);
        }
    }
}
