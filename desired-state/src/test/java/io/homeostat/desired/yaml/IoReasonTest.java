package io.homeostat.desired.yaml;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.platform.FileOwner;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IoReasonTest {
    @TempDir
    Path directory;

    @Test
    void whatMayNotBeReadIsSaidToBelongToWhomItDoes() throws IOException {
        Path file = ofAnother();

        assertEquals(
                file + ": permission denied, it belongs to "
                        + FileOwner.of(file).orElseThrow().words(),
                IoReason.withFile(new AccessDeniedException(file.toString())));
    }

    @Test
    void ofWhatIsOursItIsNotSaidWhoseItIs() throws IOException {
        Path file = Files.createFile(directory.resolve("ours"));

        assertEquals(file + ": permission denied", IoReason.withFile(new AccessDeniedException(file.toString())));
    }

    @Test
    void noReasonIsTheNameOfAClass() {
        assertEquals("/x: it is no directory", IoReason.withFile(new NotDirectoryException("/x")));
        assertEquals("/x: odd disk", IoReason.withFile(new IOException("/x: odd disk")));
    }

    private Path ofAnother() throws IOException {
        if (!System.getProperty("user.name").equals("root")) {
            return Path.of("/etc/passwd");
        }
        Path file = Files.createFile(directory.resolve("another's"));
        Files.setAttribute(file, "unix:uid", 65534);
        return file;
    }
}
