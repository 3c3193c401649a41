package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.grpc.StatusRuntimeException;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.proto.kata.VolumeUsage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MachineFilesTest {
    private static final int REGULAR = 0100000;

    @TempDir
    private Path root;

    private GuestPaths paths;
    private MachineFiles files;

    @BeforeEach
    void prepare() {
        paths = new GuestPaths(root);
        files = new MachineFiles(paths);
    }

    private static CopyFileRequest.Builder file(String name, int mode) {
        // Nobody but root may give files away.
        return CopyFileRequest.newBuilder()
                .setPath(GuestPaths.SHARED + name)
                .setFileMode(mode)
                .setUid(-1)
                .setGid(-1);
    }

    private void piece(String name, String text, int offset, int size) throws IOException {
        files.copy(file(name, REGULAR | 0640)
                .setData(ByteString.copyFromUtf8(text))
                .setOffset(offset)
                .setFileSize(size)
                .build());
    }

    private Path copied(String name) {
        return paths.real(GuestPaths.SHARED + name);
    }

    @Test
    void aFileIsThereWhenItsLastPieceIs() throws IOException {
        piece("a/b", "hello ", 0, 11);
        assertFalse(Files.exists(copied("a/b")));
        piece("a/b", "world", 6, 11);

        assertEquals("hello world", Files.readString(copied("a/b")));
        assertEquals("rw-r-----", PosixFilePermissions.toString(Files.getPosixFilePermissions(copied("a/b"))));
    }

    @Test
    void oneThatWasBrokenOffIsBegunAnew() throws IOException {
        piece("a", "something long", 0, 30);
        piece("a", "new", 0, 3);

        assertEquals("new", Files.readString(copied("a")));
    }

    @Test
    void aPieceIsNeitherMissingNorBeyondTheEnd() throws IOException {
        piece("a", "12345", 0, 15);

        StatusRuntimeException missing = assertThrows(StatusRuntimeException.class, () -> piece("a", "abc", 10, 15));
        assertTrue(String.valueOf(missing.getMessage()).contains("is missing before this one"), missing::toString);
        for (int offset : new int[] {-1, 13}) {
            assertThrows(StatusRuntimeException.class, () -> piece("a", "abc", offset, 15));
        }
    }

    @Test
    void aLastPieceEndsWhereTheFileDoes() throws IOException {
        piece("a", "12345", 0, 7);

        assertThrows(StatusRuntimeException.class, () -> piece("a", "678", 5, 7));
        piece("a", "67", 5, 7);

        assertEquals("1234567", Files.readString(copied("a")));
    }

    @Test
    void filesLinksAndDirectoriesBelongToWhoeverIsNamed() throws IOException {
        // Nobody but root may give files away.
        int own = (int) Files.getAttribute(root, "unix:uid");
        int uid = own == 0 ? 12345 : own;
        int gid = own == 0 ? 12346 : (int) Files.getAttribute(root, "unix:gid");
        for (int type : new int[] {REGULAR, 0040000, 0120000}) {
            String name = "of-" + type;
            files.copy(file(name, type | 0700)
                    .setUid(uid)
                    .setGid(gid)
                    .setData(ByteString.copyFromUtf8("target"))
                    .setFileSize(6)
                    .build());

            assertEquals(uid, Files.getAttribute(copied(name), "unix:uid", LinkOption.NOFOLLOW_LINKS));
            assertEquals(gid, Files.getAttribute(copied(name), "unix:gid", LinkOption.NOFOLLOW_LINKS));
        }
    }

    @Test
    void anOwnerWithoutAUserOrAGroupIsNone() throws IOException {
        int own = (int) Files.getAttribute(root, "unix:uid");
        for (int[] owner : new int[][] {{-1, 12346}, {12345, -1}}) {
            files.copy(
                    file("a", REGULAR | 0700).setUid(owner[0]).setGid(owner[1]).build());

            assertEquals(own, Files.getAttribute(copied("a"), "unix:uid"));
        }
    }

    @Test
    void directoriesOnTheWayHaveTheModeThatIsAskedFor() throws IOException {
        files.copy(file("usual/a", REGULAR | 0600).build());
        files.copy(file("asked/a", REGULAR | 0600).setDirMode(0700).build());

        assertEquals("rwxr-xr-x", PosixFilePermissions.toString(Files.getPosixFilePermissions(copied("usual"))));
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(copied("asked"))));
    }

    @Test
    void linksAndDirectoriesAreMadeAndReplaced() throws IOException {
        for (String target : new String[] {"/first", "../second"}) {
            files.copy(file("link", 0120777)
                    .setData(ByteString.copyFromUtf8(target))
                    .build());
            assertEquals(Path.of(target), Files.readSymbolicLink(copied("link")));
        }
        for (int time = 0; time < 2; time++) {
            files.copy(file("directory", 0040711).build());
        }
        assertEquals("rwx--x--x", PosixFilePermissions.toString(Files.getPosixFilePermissions(copied("directory"))));
        assertThrows(
                StatusRuntimeException.class,
                () -> files.copy(file("device", 0020666).build()));
    }

    @Test
    void aLinkInThePlaceOfAFileIsReplacedAndNotFollowed() throws IOException {
        Path outside = Files.writeString(root.resolve("outside"), "kept");
        Files.createDirectories(copied(""));
        Files.createSymbolicLink(copied("a"), outside);

        piece("a", "new", 0, 3);

        assertEquals("kept", Files.readString(outside));
        assertEquals("new", Files.readString(copied("a")));
        Files.createSymbolicLink(copied("b.tmp"), outside);
        assertThrows(IOException.class, () -> piece("b", "new", 0, 3));
        assertEquals("kept", Files.readString(outside));
    }

    @Test
    void howFullAFileSystemIsIsToldInBytesAndWhatIsNotThereAsClientsExpectIt() throws IOException {
        Files.createDirectories(copied(""));

        VolumeUsage usage = files.volume("/run/kata-containers/shared").getUsage(0);

        assertEquals(VolumeUsage.Unit.BYTES, usage.getUnit());
        assertTrue(usage.getTotal() >= usage.getUsed() && usage.getAvailable() > 0, usage::toString);
        StatusRuntimeException none =
                assertThrows(StatusRuntimeException.class, () -> files.volume("/run/sandbox-ns/ipc"));
        assertTrue(String.valueOf(none.getMessage()).contains("kind: NotFound"), none::toString);
    }
}
