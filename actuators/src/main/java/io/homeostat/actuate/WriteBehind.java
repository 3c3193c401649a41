package io.homeostat.actuate;

import io.homeostat.observe.process.Libc;
import java.nio.file.Path;

/**
 * Has the kernel write a large file to the disk while more of it comes, so that there is not much left to wait for when it is made
 * durable. Promises nothing: what does not work is left to that.
 */
public final class WriteBehind {
    private static final long STEP = 16L << 20;

    private final Path file;
    private long begun;

    public WriteBehind(Path file) {
        this.file = file;
    }

    /** Told, with the length of the file, whenever more of it has been written. */
    public void written(long length) {
        if (length - begun < STEP) {
            return;
        }
        int descriptor = Libc.open(file.toString());
        if (descriptor >= 0) {
            int _ = Libc.startWriting(descriptor, begun, length - begun);
            int _ = Libc.close(descriptor);
        }
        begun = length;
    }
}
