package io.homeostat.desired.platform;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Numbers among the parameters of the kernel, sysctl(8). */
public final class Sysctl {
    private Sysctl() {}

    /**
     * What a parameter is set to.
     *
     * @param file below {@code /proc/sys}
     */
    public static long number(Path file) throws IOException {
        // In one piece: the kernel gives a number only to the first read, and readString() begins with one of a byte.
        return Long.parseLong(
                Files.readAllLines(file, StandardCharsets.US_ASCII).getFirst().strip());
    }
}
