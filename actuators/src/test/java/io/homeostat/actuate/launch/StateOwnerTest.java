package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.actuate.ForeignMount;
import io.homeostat.observe.process.Account;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A directory of user 1001 becomes that of user 1002, neither of whom need exist. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class StateOwnerTest {
    private static final int FORMER = 1001;
    private static final int USER = 1002;
    private static final int GROUP = 1003;

    @TempDir
    Path temp;

    private Path state = Path.of("");
    private Path inner = Path.of("");
    private Path file = Path.of("");

    @BeforeEach
    void makeState() throws IOException {
        assumeTrue(Account.ourUid() == 0, "only root gives something away");
        Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwx--x--x"));
        state = Files.createDirectory(temp.resolve("state"));
        inner = Files.createDirectory(state.resolve("inner"));
        file = Files.createFile(inner.resolve("file"));
        for (Path each : List.of(state, inner, file)) {
            Files.setAttribute(each, "unix:uid", FORMER);
            Files.setPosixFilePermissions(each, PosixFilePermissions.fromString("rwxrwxrwx"));
        }
    }

    private static StateOwner owner() {
        return new StateOwner(USER, GROUP, 1000);
    }

    private static Object uid(Path path) throws IOException {
        return Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    }

    private void assertGiven() throws IOException {
        for (Path each : List.of(state, inner, file)) {
            assertEquals(USER, uid(each), each.toString());
            assertEquals(GROUP, Files.getAttribute(each, "unix:gid"), each.toString());
        }
        assertEquals(0700, (int) Files.getAttribute(state, "unix:mode") & 07777);
    }

    @Test
    void theNewUserGetsAllOfItAndNobodyElseAnyMore() throws Exception {
        assertEquals(Optional.empty(), owner().own(state));

        assertGiven();
    }

    @Test
    void whatItsUserGrantsToOthersStaysSo() throws Exception {
        assertEquals(Optional.empty(), new StateOwner(FORMER, GROUP, 1000).own(state));

        assertEquals("rwxrwxrwx", PosixFilePermissions.toString(Files.getPosixFilePermissions(state)));
    }

    /** The states that kill -9 leaves, from the first step to the last. */
    @ParameterizedTest
    @CsvSource({"1001, 0", "1001, 1001", "0, 1001", "1002, 1001", "1002, 1003"})
    void whatWasInterruptedIsDone(int uid, int gid) throws Exception {
        Files.setAttribute(state, "unix:mode", 01700);
        Files.setAttribute(state, "unix:uid", uid);
        Files.setAttribute(state, "unix:gid", gid);
        if (uid == USER) {
            for (Path each : List.of(inner, file)) {
                Files.setAttribute(each, "unix:uid", USER);
                Files.setAttribute(each, "unix:gid", GROUP);
            }
        }

        assertEquals(Optional.empty(), owner().own(state));

        assertGiven();
    }

    @Test
    void aDirectoryOfRootIsNoneOfAGroupThatMayReadIt() throws Exception {
        Files.setAttribute(state, "unix:uid", 0);
        Files.setAttribute(state, "unix:gid", FORMER);
        Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxr-x---"));

        assertEquals(Optional.empty(), new StateOwner(0, 0, 1000).own(state));

        assertEquals("rwxr-x---", PosixFilePermissions.toString(Files.getPosixFilePermissions(state)));
        assertEquals(FORMER, Files.getAttribute(state, "unix:gid"));
        assertEquals(FORMER, uid(inner));
    }

    @Test
    void linksAndFilesWithOtherNamesAreLeftAndTold() throws Exception {
        Path link = Files.createSymbolicLink(state.resolve("link\u001b"), temp);
        Files.setAttribute(link, "unix:uid", FORMER, LinkOption.NOFOLLOW_LINKS);
        Path foreign = Files.createFile(temp.resolve("foreign"));
        Files.setAttribute(foreign, "unix:uid", FORMER);
        Files.createLink(inner.resolve("name"), foreign);

        String left = owner().own(state).orElseThrow();

        assertGiven();
        assertEquals(FORMER, uid(foreign));
        assertEquals(0, uid(temp));
        assertTrue(left.contains(state + "/link?"), left);
        assertTrue(left.contains(inner + "/name"), left);
    }

    @Test
    void whatCanNotBeLookedAtIsLeftAndTold() throws Exception {
        Path point = Files.createDirectory(inner.resolve("point"));
        try (ForeignMount _ = ForeignMount.at(point)) {
            String left = owner().own(state).orElseThrow();

            assertGiven();
            assertTrue(left.contains(point.toString()), left);
        }
    }

    @Test
    void ofMoreThanCanBeGivenNothingElseIsGivenAndItStaysClosed() throws Exception {
        IOException failure = assertThrows(IOException.class, () -> new StateOwner(USER, GROUP, 1).own(state));

        assertTrue(String.valueOf(failure.getMessage()).contains("more than 1 files"), failure.getMessage());
        assertEquals(0, uid(state));
        assertEquals(01700, (int) Files.getAttribute(state, "unix:mode") & 07777);
        assertEquals(Optional.empty(), owner().own(state));
        assertGiven();
    }

    /** Who has come in by then, and stays, may make entries without end. */
    @Test
    void theFormerUserMakesNothingInItWhileItChangesHands() throws Exception {
        assertThrows(IOException.class, () -> new StateOwner(USER, GROUP, 0).own(state));

        assertEquals(
                2,
                new ProcessBuilder(
                                "setpriv",
                                "--reuid=" + FORMER,
                                "--regid=" + FORMER,
                                "--clear-groups",
                                "sh",
                                "-c",
                                "echo > '" + state + "/more' || exit 2")
                        .start()
                        .waitFor());
    }

    @Test
    void aFileOfTheUserIsKeptAndAnythingElseInItsPlaceIsRemoved() throws Exception {
        owner().own(state);
        assertEquals(Optional.empty(), owner().keepTheirs(file));
        assertEquals(Optional.empty(), owner().keepTheirs(state.resolve("missing")));
        assertTrue(Files.exists(file));

        Path precious = Files.createFile(temp.resolve("precious"));
        Path link = Files.createSymbolicLink(state.resolve("link"), precious);
        Path name = Files.createLink(state.resolve("name"), file);
        Path other = Files.createFile(state.resolve("other"));
        for (Path each : List.of(link, name, other, inner)) {
            assertTrue(owner().keepTheirs(each).isPresent(), each.toString());
            assertTrue(Files.notExists(each, LinkOption.NOFOLLOW_LINKS), each.toString());
        }
        assertTrue(Files.exists(precious));
    }
}
