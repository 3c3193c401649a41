package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MountsTest {
    @TempDir
    private Path temp;

    /** The way to what is further down may lead through a file system that does not answer any more. */
    @Test
    void whatIsFurtherUpIsUnmountedFirst() throws IOException {
        Path top = Files.createDirectories(temp.toRealPath().resolve("tree/top"));
        // With the mount above it, the directory on the way is gone.
        Path below = top.resolve("directory/below");
        Path table = temp.resolve("mountinfo");
        Files.writeString(
                table,
                "1 1 254:0 / / rw - ext4 /dev/vda rw\n2 1 0:50 / " + top
                        + " rw - fuse evil rw,user_id=1001\n3 2 0:51 / " + below + " rw - fuse evil rw,user_id=1001\n");
        List<String> detached = new ArrayList<>();
        Mounts mounts = new Mounts(table, new Detaching(detached));

        assertThrows(
                FileSystemException.class, () -> mounts.clear(temp.toRealPath().resolve("tree")));

        assertEquals(10, detached.size(), detached.toString());
        assertEquals(Set.of("top"), Set.copyOf(detached));
    }

    private record Detaching(List<String> detached) implements Mounts.Kernel {
        @Override
        public int mount(String source, String directory, String type, long flags, String options) {
            throw new AssertionError("nothing is to be mounted");
        }

        @Override
        public int detach(String directory) {
            detached.add(String.valueOf(Path.of(directory).getFileName()));
            return 0;
        }

        @Override
        public int unshareNetwork() {
            throw new AssertionError("no network is to be made");
        }
    }
}
