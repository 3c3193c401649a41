package io.homeostat.reconcile.command.start;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.platform.NewFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BundleArchiveTest {
    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource({
        "rwxr-xr-x, rw-r--r--, rw-r--r--",
        "rwxr-xr-x, rw-------, rw-------",
        "rwxr-xr-x, rw-r-----, rw-------",
        "rwx------, rw-r--r--, rw-------",
        "rwxr-xr--, rw-r--r--, rw-------",
    })
    void anArchiveIsForThoseWhoMayReadEverythingInIt(String ofDirectory, String ofFile, String ofArchive)
            throws Exception {
        Path packed = mode(Files.createDirectory(directory.resolve("packed")), "rwxr-xr-x");
        Path below = mode(Files.createDirectory(packed.resolve("below")), ofDirectory);
        mode(Files.writeString(packed.resolve("run"), "x"), "rwxr-xr-x");
        mode(Files.writeString(below.resolve("file"), "x"), ofFile);

        assertEquals(ofArchive, permissions(packed));
    }

    @Test
    void theDirectoryItselfCountsToo() throws Exception {
        Path packed = mode(Files.createDirectory(directory.resolve("packed")), "rwx------");
        mode(Files.writeString(packed.resolve("run"), "x"), "rwxr-xr-x");

        assertEquals("rw-------", permissions(packed));
    }

    private String permissions(Path packed) throws Exception {
        try (NewFile archive = NewFile.of(directory.resolve("archive"))) {
            return PosixFilePermissions.toString(
                    BundleArchive.write(packed, archive).permissions());
        }
    }

    private static Path mode(Path path, String permissions) throws IOException {
        return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
    }
}
