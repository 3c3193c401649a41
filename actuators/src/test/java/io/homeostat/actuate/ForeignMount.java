package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.Libc;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file system that an ordinary user has mounted, and that keeps root out, as those of FUSE do. */
public final class ForeignMount implements AutoCloseable {
    private final Path directory;
    private final int device;

    private ForeignMount(Path directory, int device) {
        this.directory = directory;
        this.device = device;
    }

    /** Mounts one of nobody's. Skips the test where that is not possible. */
    public static ForeignMount at(Path directory) throws IOException {
        ForeignMount mount = mount(directory, "");
        assertThrows(AccessDeniedException.class, () -> Files.getLastModifiedTime(directory));
        return mount;
    }

    /** As {@link #at}, but it lets everybody in, and keeps whoever looks at it waiting until it is closed. */
    public static ForeignMount silent(Path directory) throws IOException {
        return mount(directory, ",allow_other");
    }

    private static ForeignMount mount(Path directory, String options) throws IOException {
        assumeTrue(Account.ourUid() == 0, "only root mounts in the name of others");
        int device = Libc.open("/dev/fuse");
        assumeTrue(device >= 0, "there is no FUSE here");
        int mounted = Libc.mount(
                "foreign",
                directory.toString(),
                "fuse",
                0,
                "fd=" + device + ",rootmode=" + (Files.isDirectory(directory) ? "40000" : "100000")
                        + ",user_id=65534,group_id=65534" + options);
        ForeignMount mount = new ForeignMount(directory, device);
        if (mounted < 0) {
            int _ = Libc.close(device);
        }
        assumeTrue(mounted == 0, "nothing can be mounted here");
        return mount;
    }

    /** Also when it is mounted no more. */
    @Override
    public void close() {
        int _ = Libc.detach(directory.toString());
        int _ = Libc.close(device);
    }
}
