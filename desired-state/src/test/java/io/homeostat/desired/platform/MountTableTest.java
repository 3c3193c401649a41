package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.platform.MountTable.Mount;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MountTableTest {
    @TempDir
    private Path temp;

    private static final List<String> HOST = List.of(
            "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw",
            "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard",
            "40 27 254:0 /srv /srv/my\\040files rw,relatime - ext4 /dev/vda rw",
            "41 27 254:0 /srv /data/below rw,relatime - ext4 /dev/vda rw",
            "42 27 7:0 / /data ro,relatime - squashfs /dev/loop0 ro,errors=continue",
            "43 42 254:0 /x /data rw,relatime - ext4 /dev/vda rw",
            "44 27 254:0 /conf /conf ro,relatime - ext4 /dev/vda rw");

    @Test
    void aPathIsOnTheMountThatAWalkEndsOn() {
        assertMount("27", "/etc/passwd");
        assertMount("27", "/datastore");
        assertMount("27", "/srv/my");
        assertMount("40", "/srv/my files/x");
        assertMount("43", "/data/x");
        assertMount("43", "/data/below/x");
    }

    @Test
    void whereTheRootIsNoMountOnlyWhatIsBelowOneIsKnown() {
        MountTable inChangeRoot = MountTable.parse(List.of("50 27 0:40 / /proc rw - proc proc rw"));

        assertEquals(Optional.empty(), inChangeRoot.of(Path.of("/etc")));
        assertEquals(Optional.of("50"), inChangeRoot.of(Path.of("/proc/self")).map(Mount::id));
    }

    @Test
    void theFirstMountOfAllIsMountedOnItself() {
        MountTable ofInitramfs =
                MountTable.parse(List.of("1 1 0:2 / / rw - rootfs rootfs rw", "22 1 0:21 / /proc rw - proc proc rw"));

        assertEquals(Optional.of("1"), ofInitramfs.of(Path.of("/etc")).map(Mount::id));
        assertEquals(Optional.of("22"), ofInitramfs.of(Path.of("/proc/self")).map(Mount::id));
    }

    @Test
    void whatIsNoLineOfAMountIsLeftOut() {
        assertEquals(
                List.of("/"),
                MountTable.parse(List.of("", "not a mount", "1 2 0:1 / /x rw - ext4", "27 1 254:0 / / rw - ext4 a rw"))
                        .mounts()
                        .stream()
                        .map(mount -> mount.point().toString())
                        .toList());
    }

    @Test
    void aMountTellsWhatItsFileSystemIsAndWhatItDenies() {
        Mount disk = only("30 1 8:1 / /disk ro,noexec - xfs /dev/sdb1 rw");
        assertEquals(List.of(true, false, true, false), facts(disk));
        Mount readOnly = only("30 1 8:1 / /disk rw shared:1 master:2 - tmpfs none ro,error=noexecutable");
        assertEquals(List.of(true, true, false, true), facts(readOnly));
    }

    @Test
    void aFileSystemInUserSpaceIsItsMounters() throws IOException {
        Path table = Files.writeString(temp.resolve("mountinfo"), """
                27 1 254:0 / / rw - ext4 /dev/vda rw,user_id=3
                30 27 0:300 / /tmp/x rw,nosuid,nodev - fuse.sshfs host: rw,user_id=1000,group_id=1000,allow_other
                31 27 4097:5 / /disk rw - fuseblk /dev/sdb1 rw,user_id=0,group_id=0,blksize=4096
                """);

        assertEquals(Optional.of(1000L), MountTable.mounter(1 << 20 | 44, table));
        assertEquals(Optional.of(0L), MountTable.mounter(0x1000L << 32 | 1 << 8 | 5, table));
        assertEquals(Optional.empty(), MountTable.mounter(254 << 8, table));
    }

    @Test
    void aDeviceIsCalledAsFilesOnItSay() throws IOException {
        Path proc = Path.of("/proc");
        long device = ((Number) Files.getAttribute(proc, "unix:dev")).longValue();

        Mount mount = MountTable.read(proc.resolve("self/mountinfo")).of(proc).orElseThrow();

        assertEquals(device, mount.device());
    }

    private static Mount only(String line) {
        return MountTable.parse(List.of(line)).of(Path.of("/disk")).orElseThrow();
    }

    private static List<Boolean> facts(Mount mount) {
        return List.of(mount.isReadOnly(), mount.isFileSystemReadOnly(), mount.isNoExec(), mount.isInMemory());
    }

    @Test
    void aPointIsToldByItsBytesWhateverTheLocaleLacks() throws IOException {
        Path odd = Files.createDirectories(temp.toRealPath().resolve("a\\ b\t%20"));
        Path table = Files.writeString(
                temp.resolve("mountinfo"),
                "30 1 8:1 / /caf\u00c3\u00a9 rw - ext4 none rw\n31 1 8:1 / "
                        + odd.toString()
                                .replace("\\", "\\134")
                                .replace(" ", "\\040")
                                .replace("\t", "\\011")
                        + " rw - ext4 none rw\n",
                StandardCharsets.ISO_8859_1);

        assertEquals(List.of(odd), MountTable.pointsBelow(odd, table));
        assertEquals(List.of(odd), MountTable.pointsBelow(temp.toRealPath(), table));
        assertEquals(2, MountTable.pointsBelow(Path.of("/"), table).size());
        assertEquals(
                "/caf%C3%A9",
                MountTable.read(table).mounts().getFirst().point().toUri().getRawPath());
    }

    @Test
    void itAgreesWithJava() throws IOException {
        assertEquals(
                Files.getFileStore(temp).type(),
                MountTable.read(Path.of("/proc/self/mountinfo"))
                        .of(temp.toRealPath())
                        .orElseThrow()
                        .type());
    }

    @Test
    void aMountIsReadOnlyForEverybodyOnlyWhereEverybodySeesIt() {
        assertEquals(List.of(true, false, false), readOnly(HOST, HOST, "/conf/x", "/etc/x", "/data/x"));

        // As with ProtectSystem=strict: all but some is read-only for a service, and for nobody else.
        List<String> service = List.of(
                "127 1 254:0 / / ro,relatime shared:1 - ext4 /dev/vda rw,discard",
                "140 127 254:0 /state /state rw,relatime - ext4 /dev/vda rw",
                "144 127 7:0 / /image ro,relatime - squashfs /dev/loop0 ro,errors=continue");
        assertEquals(List.of(false, false, true), readOnly(service, HOST, "/home/bob", "/state/x", "/image/x"));
    }

    private static List<Boolean> readOnly(List<String> ours, List<String> all, String... paths) {
        return List.of(paths).stream()
                .map(path -> TrustedPath.isReadOnly(Path.of(path), MountTable.parse(ours), MountTable.parse(all)))
                .toList();
    }

    private static void assertMount(String id, String path) {
        assertEquals(Optional.of(id), MountTable.parse(HOST).of(Path.of(path)).map(Mount::id));
    }
}
