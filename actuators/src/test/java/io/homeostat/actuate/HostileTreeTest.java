package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.PinnedFile;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/** Trees whose owner still does something to them while they are deleted. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class HostileTreeTest {
    private static final int NOBODY = 65_534;

    @TempDir
    Path temp;

    private Path tree = Path.of("");
    private Path directory = Path.of("");

    @BeforeEach
    void makeTree() throws IOException {
        tree = Files.createDirectory(temp.resolve("tree"));
        directory = Files.createDirectory(tree.resolve("directory"));
        Files.createDirectory(directory.resolve("inner"));
        Files.createFile(directory.resolve("file"));
        if (Account.ourUid() == 0) {
            for (Path theirs : List.of(tree, directory)) {
                Files.setAttribute(theirs, "unix:uid", NOBODY);
                Files.setPosixFilePermissions(theirs, PosixFilePermissions.fromString("rwxrwxrwx"));
            }
        }
    }

    /** Deletes the tree, while something else takes the name of its directory once that was opened. */
    private void deleteWhileExchangedFor(Path other) throws IOException {
        HostileTree.delete(tree, new Mounts(), entry -> {
            PinnedFile opened = PinnedFile.of(entry);
            if (entry.endsWith("directory") && Files.exists(other, LinkOption.NOFOLLOW_LINKS)) {
                Files.move(entry, temp.resolve("away"));
                Files.move(other, entry, StandardCopyOption.ATOMIC_MOVE);
            }
            return opened;
        });
    }

    /** Latin-1, as old archives have it. */
    @Test
    void whatHasANameThatIsNoTextIsDeletedLikeAllElse() throws Exception {
        Path strange = Files.createDirectory(Path.of(URI.create(directory.toUri() + "dir%E9")));
        Files.createFile(Path.of(URI.create(strange.toUri() + "a%20+%FF")));

        HostileTree.delete(tree);

        assertFalse(Files.exists(tree));
    }

    /** To open it for a list would wait for somebody who writes. */
    @Test
    void aPipeThatTakesTheNameOfADirectoryIsNotWaitedFor() throws Exception {
        Path pipe = temp.resolve("pipe");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());

        deleteWhileExchangedFor(pipe);

        assertFalse(Files.exists(tree));
    }

    @Test
    void aFileThatTakesTheNameOfADirectoryKeepsItsModeAndItsOwner() throws Exception {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("-wx------"));
        Path precious = Files.createFile(temp.resolve("precious"));
        Files.setPosixFilePermissions(precious, PosixFilePermissions.fromString("rw-------"));
        int uid = Account.ourUid() == 0 ? 1 : Account.ourUid();
        Files.setAttribute(precious, "unix:uid", uid);

        deleteWhileExchangedFor(Files.createLink(temp.resolve("link"), precious));

        assertFalse(Files.exists(tree));
        assertEquals(PosixFilePermissions.fromString("rw-------"), Files.getPosixFilePermissions(precious));
        assertEquals(uid, Files.getAttribute(precious, "unix:uid"));
    }

    /** Where somebody else can rename, which is not where it should be. */
    @Test
    void aFileThatTakesTheNameOfTheTreeKeepsItsModeAndItsOwner() throws Exception {
        Path precious = Files.createFile(temp.resolve("precious"));
        Files.setPosixFilePermissions(precious, PosixFilePermissions.fromString("rw-rw-rw-"));
        int uid = Account.ourUid() == 0 ? 1 : Account.ourUid();
        Files.setAttribute(precious, "unix:uid", uid);
        Path away = temp.resolve("away");

        HostileTree.delete(tree, new Mounts(), entry -> {
            if (entry.equals(tree) && Files.notExists(away)) {
                Files.move(tree, away);
                Files.createLink(tree, precious);
            }
            return PinnedFile.of(entry);
        });

        assertFalse(Files.exists(tree));
        assertTrue(Files.exists(away.resolve("directory")));
        assertEquals(PosixFilePermissions.fromString("rw-rw-rw-"), Files.getPosixFilePermissions(precious));
        assertEquals(uid, Files.getAttribute(precious, "unix:uid"));
    }

    @Test
    void aLinkThatTakesTheNameOfADirectoryIsNotFollowed() throws Exception {
        Path precious = Files.createDirectory(temp.resolve("precious"));
        Files.createFile(precious.resolve("file"));

        deleteWhileExchangedFor(Files.createSymbolicLink(temp.resolve("link"), precious));

        assertFalse(Files.exists(tree, LinkOption.NOFOLLOW_LINKS));
        assertTrue(Files.exists(precious.resolve("file")));
    }

    @Test
    void whoOwnedADirectoryCanNotGoOnInItOnceItIsListed() throws Exception {
        assumeTrue(Account.ourUid() == 0, "only root deletes what others own");
        List<String> seen = new ArrayList<>();

        HostileTree.delete(tree, new Mounts(), entry -> {
            if (entry.endsWith("inner")) {
                for (Path above : List.of(tree, directory)) {
                    seen.add(Files.getOwner(above) + " "
                            + PosixFilePermissions.toString(Files.getPosixFilePermissions(above)));
                }
            }
            return PinnedFile.of(entry);
        });

        assertEquals(List.of("root rwx------", "root rwx------"), seen);
    }

    @Test
    void whatIsMountedThereIsUnmountedAndNotDeleted() throws Exception {
        assumeTrue(Account.ourUid() == 0, "only root mounts");
        Path precious = Files.createDirectory(temp.resolve("precious"));
        Files.createFile(precious.resolve("file"));
        Optional<String> problem = new Mounts().bind(precious, directory.resolve("inner"));
        assumeTrue(problem.isEmpty(), problem::toString);

        new LocalDisk().deleteTree(tree);

        assertFalse(Files.exists(tree));
        assertTrue(Files.exists(precious.resolve("file")));
    }

    @Test
    void aFileSystemOfAUserThatKeepsRootOutIsNoObstacle() throws Exception {
        try (ForeignMount _ = ForeignMount.at(directory.resolve("inner"))) {
            new LocalDisk().deleteTree(tree);
            assertTrue(Files.notExists(tree));
        }
    }

    @Test
    void aFileSystemOfAUserAtTheTopIsNoneEither() throws Exception {
        try (ForeignMount _ = ForeignMount.at(tree)) {
            new LocalDisk().deleteTree(tree);
            assertTrue(Files.notExists(tree));
        }
    }

    @Test
    void whatIsMountedMeanwhileIsNamed() throws Exception {
        ForeignMount.at(directory.resolve("inner")).close();
        List<ForeignMount> mounts = new ArrayList<>();
        try {
            IOException failure = assertThrows(
                    IOException.class,
                    () -> HostileTree.delete(tree, new Mounts(), entry -> {
                        if (entry.endsWith("directory")) {
                            mounts.add(ForeignMount.at(directory.resolve("inner")));
                        }
                        return PinnedFile.of(entry);
                    }));
            assertTrue(
                    String.valueOf(failure.getMessage()).contains(directory.resolve("inner") + ": "),
                    failure.getMessage());
            HostileTree.delete(tree);
            assertTrue(Files.notExists(tree));
        } finally {
            mounts.forEach(ForeignMount::close);
        }
    }
}
