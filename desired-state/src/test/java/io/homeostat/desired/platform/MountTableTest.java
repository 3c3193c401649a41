package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.homeostat.desired.platform.MountTable.Mount;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class MountTableTest {
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
