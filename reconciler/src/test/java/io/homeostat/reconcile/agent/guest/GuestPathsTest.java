package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GuestPathsTest {
    @TempDir
    private Path root;

    @ParameterizedTest
    @CsvSource({
        "/run/kata-containers/abc/config.json, containers/abc/config.json",
        "/run/kata-containers/abc/rootfs, run/abc/rootfs",
        "/run/kata-containers/shared/containers/x, run/shared/containers/x",
        "/run/sandbox-ns/ipc, sandbox-ns/ipc"
    })
    void pathsOfAnAgentAreBelowOurDirectory(String path, String ours) {
        assertEquals(root.resolve(ours), new GuestPaths(root).real(path));
    }

    @Test
    void othersAreWhereTheySay() {
        assertEquals(Path.of("/srv/app"), new GuestPaths(root).real("/srv/app"));
        assertEquals(Path.of("/run/kata-containers-2"), new GuestPaths(root).real("/run/kata-containers-2"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"/run/kata-containers/../../etc", "/run/kata-containers/a/../../../x", "/run/sandbox-ns/../run/x"
            })
    void noneLeadsOut(String path) {
        assertThrows(StatusRuntimeException.class, () -> new GuestPaths(root).real(path));
    }

    @Test
    void idsAreWordsThatAreNoneOfOurs() {
        for (String id : new String[] {"ab", "a-b_c.d", "0123"}) {
            assertTrue(GuestPaths.isId(id), id);
        }
        for (String none : new String[] {"", "a", ".ab", "a/b", "..", "é1", "x".repeat(201)}) {
            assertFalse(GuestPaths.isId(none), none);
        }
    }

    @Test
    void nothingIsCopiedThroughALink() throws IOException {
        GuestPaths paths = new GuestPaths(root);
        Path shared = Files.createDirectories(paths.real(GuestPaths.SHARED));
        Files.createDirectories(shared.resolve("a/b"));
        Files.createSymbolicLink(shared.resolve("link"), Path.of("/etc"));

        assertEquals(shared.resolve("a/b/c"), paths.copied(GuestPaths.SHARED + "a/b/c"));
        assertEquals(shared.resolve("link"), paths.copied(GuestPaths.SHARED + "link"));
        assertThrows(FileSystemException.class, () -> paths.copied(GuestPaths.SHARED + "link/passwd"));
        assertThrows(FileSystemException.class, () -> paths.copied(GuestPaths.SHARED + "link/x/passwd"));
        for (String none : new String[] {"", "../x", "."}) {
            assertThrows(StatusRuntimeException.class, () -> paths.copied(GuestPaths.SHARED + none));
        }
        assertThrows(StatusRuntimeException.class, () -> paths.copied("/etc/passwd"));
    }
}
