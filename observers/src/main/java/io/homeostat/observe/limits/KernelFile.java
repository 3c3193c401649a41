package io.homeostat.observe.limits;

import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Reads the small files in which the kernel tells something, of which an agent reads hundreds at a time. */
public final class KernelFile {
    /** More than a line of stat(5) takes. */
    private static final int USUAL_BYTES = 1024;

    private KernelFile() {}

    /** With fewer system calls than {@link Files#readAllBytes}, which asks for a size that these do not have. */
    public static byte[] bytes(Path file) throws IOException {
        byte[] bytes = new byte[USUAL_BYTES];
        int length = 0;
        try (FileInputStream in = new FileInputStream(file.toFile())) {
            for (int more = 0; more >= 0; more = in.read(bytes, length, bytes.length - length)) {
                length += more;
                if (length == bytes.length) {
                    bytes = Arrays.copyOf(bytes, 2 * length);
                }
            }
            return Arrays.copyOf(bytes, length);
        } catch (FileNotFoundException e) {
            // For whatever reason; this one says for which.
            return Files.readAllBytes(file);
        }
    }
}
