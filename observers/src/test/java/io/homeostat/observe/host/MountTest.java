package io.homeostat.observe.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MountTest {
    @TempDir
    Path temporary;

    private Path root;

    @BeforeEach
    void setUp() throws IOException {
        root = temporary.toRealPath();
        Files.createDirectories(root.resolve("self"));
        Files.createDirectories(root.resolve("disk/deep"));
        Files.createDirectories(root.resolve("a\\ b"));
    }

    private void mounts(String... lines) throws IOException {
        Files.writeString(root.resolve("self/mounts"), String.join("\n", lines) + "\n");
    }

    private Optional<String> type(String file) throws IOException {
        return Mount.of(root.resolve(file), root).map(Mount::type);
    }

    @Test
    void itIsTheOneMountedClosestAboveAndOfEqualsTheLastOne() throws IOException {
        mounts(
                "/dev/sda1 / ext4 rw,relatime 0 0",
                "none " + root + "/disk tmpfs rw 0 0",
                "/dev/sdb1 " + root + "/disk xfs ro,noexec 0 0",
                "none " + root + "/dis ramfs rw 0 0",
                "not a mount");
        assertEquals(Optional.of("ext4"), type("self"));
        assertEquals(Optional.of("xfs"), type("disk"));
        Mount mount = Mount.of(root.resolve("disk/deep"), root).orElseThrow();
        assertEquals(root.resolve("disk"), mount.point());
        assertTrue(mount.isReadOnly());
        assertTrue(mount.isNoExec());
        assertFalse(mount.isInMemory());
    }

    @Test
    void whatWouldEndAFieldIsEscaped() throws IOException {
        mounts("none " + root + "/a\\134\\040b tmpfs rw,error=noexecutable 0 0");
        Mount mount = Mount.of(root.resolve("a\\ b"), root).orElseThrow();
        assertTrue(mount.isInMemory());
        assertFalse(mount.isReadOnly());
        assertFalse(mount.isNoExec());
    }

    @Test
    void aLinkIsOnWhatItLeadsTo() throws IOException {
        Files.createSymbolicLink(root.resolve("link"), root.resolve("disk/deep"));
        mounts("/dev/sda1 / ext4 rw 0 0", "/dev/sdb1 " + root + "/disk xfs rw 0 0");
        assertEquals(Optional.of("xfs"), type("link"));
    }

    @Test
    void inAChrootWhoseRootIsNoMountPointThereIsNone() throws IOException {
        mounts("proc /proc proc rw 0 0");
        assertEquals(Optional.empty(), type("disk"));
    }

    @Test
    void whatIsNotThereIsOnNone() throws IOException {
        mounts("/dev/sda1 / ext4 rw 0 0");
        assertThrows(NoSuchFileException.class, () -> type("missing"));
    }

    @Test
    void itAgreesWithJava() throws IOException {
        assertEquals(
                Files.getFileStore(root).type(),
                Mount.of(root, Path.of("/proc")).orElseThrow().type());
    }
}
