package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.homeostat.desired.model.Kind;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With a table in which the mount that the directory of this test is on is a user's. */
class UserMountsTest {
    private static final long OURS = 7;

    @TempDir
    private Path temp;

    private Path state = Path.of("/");

    @BeforeEach
    void make() throws IOException {
        state = Files.createDirectory(temp.toRealPath().resolve("web"));
        Files.createFile(state.resolve("process.log.1"));
        Files.createDirectory(state.resolve("data"));
    }

    private UserMounts mounts(Path point, String type, long user) throws IOException {
        String id;
        try (PinnedFile pinned = PinnedFile.of(state)) {
            id = pinned.mount();
        }
        return mounts(id, point, type, user);
    }

    private UserMounts mounts(String id, Path point, String type, long user) throws IOException {
        Path table = Files.writeString(
                temp.resolve("mountinfo"),
                "1 1 254:0 / / rw - ext4 /dev/vda rw\n" + id + " 1 0:50 / " + point + " rw,nosuid - " + type
                        + " evil rw,user_id=" + user + ",group_id=1001\n");
        return UserMounts.in(table, OURS);
    }

    @Test
    void whatAnotherUserHasMountedOverTheStateOfAWorkloadIsNamedWithTheRemedy() throws IOException {
        UserMounts mounts = mounts(state, "fuse.sshfs", 1001);

        FileSystemException problem = assertThrows(FileSystemException.class, () -> mounts.check(Kind.PROCESS, state));

        assertEquals(
                state + ": user 1001 has mounted a file system over it, and says what is there; umount -l " + state,
                problem.getMessage());
    }

    @Test
    void soIsWhatIsMountedOverALog() throws IOException {
        UserMounts mounts = mounts(state.resolve("process.log.1"), "fuse", 1001);

        assertThrows(FileSystemException.class, () -> mounts.check(Kind.PROCESS, state));
    }

    @Test
    void aStateDirectoryThatWasMovedIsFoundByItsLink() throws IOException {
        UserMounts mounts = mounts(state, "fuse", 1001);
        Path link = Files.createSymbolicLink(temp.resolve("link"), state);

        assertThrows(FileSystemException.class, () -> mounts.check(Kind.PROCESS, link));
    }

    @Test
    void allElseInAStateDirectoryIsForItsUserToMount() throws IOException {
        UserMounts mounts = mounts(state.resolve("data"), "fuse", 1001);

        assertDoesNotThrow(() -> mounts.check(Kind.PROCESS, state));
    }

    @Test
    void whatRootOrWeHaveMountedIsNoObstacle() throws IOException {
        UserMounts ofRoot = mounts(state, "fuse", 0);
        UserMounts ours = mounts(state, "fuse", OURS);
        UserMounts ofTheKernel = mounts(state, "ext4", 1001);

        assertDoesNotThrow(() -> ofRoot.check(Kind.PROCESS, state));
        assertDoesNotThrow(() -> ours.check(Kind.PROCESS, state));
        assertDoesNotThrow(() -> ofTheKernel.check(Kind.PROCESS, state));
    }

    @Test
    void whatRootHasMountedOverItHidesIt() throws IOException {
        UserMounts mounts = mounts("999999", state, "fuse", 1001);

        assertDoesNotThrow(() -> mounts.check(Kind.PROCESS, state));
    }

    @Test
    void aWorkloadWithoutStateHasNoneOverIt() throws IOException {
        UserMounts mounts = mounts(state, "fuse", 1001);

        assertDoesNotThrow(() -> mounts.check(Kind.PROCESS, temp.resolve("other")));
    }
}
