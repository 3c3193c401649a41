package io.homeostat.observe.host;

import io.homeostat.observe.Observation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The kernel's release, version, machine and host name, as in uname(1), read from {@code /proc/sys/kernel}. */
public final class Kernel {
    private final Path directory;

    public Kernel() {
        this(Path.of("/proc/sys/kernel"));
    }

    Kernel(Path directory) {
        this.directory = directory;
    }

    /** {@code uname -r}. */
    public Observation<String> release() {
        return read("osrelease");
    }

    /** {@code uname -v}. */
    public Observation<String> version() {
        return read("version");
    }

    /** {@code uname -m}; kernels before 6.1 have no file that tells. */
    public Observation<String> machine() {
        return read("arch");
    }

    /** {@code uname -n}. */
    public Observation<String> hostName() {
        return read("hostname");
    }

    private Observation<String> read(String name) {
        Path file = directory.resolve(name);
        try {
            return Observation.seen(
                    Files.readString(file, StandardCharsets.UTF_8).strip());
        } catch (IOException e) {
            return Observation.unseen(file + " can't be read: " + e.getMessage());
        }
    }
}
