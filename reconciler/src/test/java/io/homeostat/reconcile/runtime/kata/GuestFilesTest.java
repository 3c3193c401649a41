package io.homeostat.reconcile.runtime.kata;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Status;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.guest.GuestEndpoint;
import io.homeostat.observe.install.InstallationMarker;
import io.homeostat.proto.kata.CopyFileRequest;
import io.homeostat.reconcile.runtime.kata.GuestChanges.Refused;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The files of an archive as they are copied into a guest: complete, in an order that agents can take, with their modes. */
@Timeout(120)
class GuestFilesTest extends KataTestBed {
    private static final String TO = GuestFiles.PLACE + "app/1";
    private static final int PIECE = 1 << 20;
    private static final int PARENTS = 2;

    private GuestChanges changes;
    private Path tree;

    @BeforeEach
    void setUp() throws Exception {
        changes = scene.guests(scene.machine(), Kind.CONTAINER)
                .at(GuestEndpoint.parse(KataScene.ENDPOINT))
                .changes(Duration.ofSeconds(30));
        tree = Files.createDirectory(root.resolve("tree"));
        mode(tree, "rwx------");
    }

    private static void mode(Path path, String permissions) throws Exception {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
    }

    private Path file(String name, int bytes) throws Exception {
        byte[] content = new byte[bytes];
        for (int i = 0; i < bytes; i++) {
            content[i] = (byte) i;
        }
        Path file = Files.write(tree.resolve(name), content);
        mode(file, "rw-r-x--x");
        return file;
    }

    /** What was sent after the directories above the tree and the tree itself. */
    private List<CopyFileRequest> copied() throws Exception {
        GuestFiles.copy(tree, TO, changes);
        List<CopyFileRequest> all = scene.guest().requests(CopyFileRequest.class);
        return all.subList(PARENTS + 1, all.size());
    }

    private static String mode(CopyFileRequest request) {
        return Integer.toOctalString(request.getFileMode());
    }

    @Test
    void theDirectoriesAboveItAreMadeFirst() throws Exception {
        GuestFiles.copy(tree, TO, changes);

        List<CopyFileRequest> all = scene.guest().requests(CopyFileRequest.class);
        assertEquals(
                List.of(
                        "/run/kata-containers/shared/containers/homeostat",
                        "/run/kata-containers/shared/containers/homeostat/app",
                        TO),
                all.stream().map(CopyFileRequest::getPath).toList());
        assertEquals("40755", mode(all.getFirst()));
        assertEquals(0755, all.getFirst().getDirMode());
        assertEquals("40700", mode(all.getLast()));
        assertEquals(0755, all.getLast().getDirMode(), "what is above it is not of the archive");
    }

    @Test
    void aFileIsCopiedWithItsMode() throws Exception {
        Path file = file("serve", 3);

        CopyFileRequest request = copied().getFirst();

        assertEquals(TO + "/serve", request.getPath());
        assertEquals("100651", mode(request));
        assertEquals(0700, request.getDirMode());
        assertEquals(3, request.getFileSize());
        assertEquals(0, request.getOffset());
        assertArrayEquals(Files.readAllBytes(file), request.getData().toByteArray());
    }

    @Test
    void aLongFileIsCopiedInPieces() throws Exception {
        file("long", PIECE + 5);

        List<CopyFileRequest> pieces = copied();

        assertEquals(
                List.of(0L, (long) PIECE),
                pieces.stream().map(CopyFileRequest::getOffset).toList());
        assertEquals(
                List.of(PIECE, 5),
                pieces.stream().map(piece -> piece.getData().size()).toList());
        assertEquals(PIECE + 5, pieces.getLast().getFileSize());
    }

    @Test
    void aFileOfWholePiecesHasNoEmptyOne() throws Exception {
        file("long", PIECE);

        assertEquals(1, copied().size());
    }

    @Test
    void anEmptyFileIsMadeByAnEmptyPiece() throws Exception {
        file("empty", 0);

        CopyFileRequest request = copied().getFirst();

        assertEquals(TO + "/empty", request.getPath());
        assertEquals(0, request.getData().size());
    }

    @Test
    void aLinkIsCopiedAsOne() throws Exception {
        Files.createSymbolicLink(tree.resolve("link"), Path.of("../elsewhere"));

        CopyFileRequest request = copied().getFirst();

        assertEquals("120777", mode(request));
        assertEquals("../elsewhere", request.getData().toStringUtf8());
        assertEquals("../elsewhere".length(), request.getFileSize());
    }

    @Test
    void aLinkToADirectoryIsNotFollowed() throws Exception {
        Path elsewhere = Files.createDirectory(root.resolve("elsewhere"));
        Files.writeString(elsewhere.resolve("secret"), "s");
        Files.createSymbolicLink(tree.resolve("link"), elsewhere);

        assertEquals(
                List.of(TO + "/link"),
                copied().stream().map(CopyFileRequest::getPath).toList());
    }

    @Test
    void directoriesComeBeforeWhatIsInThemAndNamesThatAgentsUseComeLast() throws Exception {
        Files.createDirectories(tree.resolve("a/b"));
        mode(tree.resolve("a"), "rwxr-x---");
        file("a/b/c", 1);
        file("x.conf", 1);
        file("x.tmp", 1);
        file("a.tmp", 1);
        file(InstallationMarker.FILE, 1);

        List<CopyFileRequest> all = copied();

        assertEquals(
                List.of(TO + "/a", TO + "/a/b", TO + "/a/b/c", TO + "/x.conf", TO + "/a.tmp", TO + "/x.tmp"),
                all.stream().map(CopyFileRequest::getPath).toList());
        assertEquals("40750", mode(all.getFirst()));
        assertEquals(0700, all.getFirst().getDirMode());
        assertEquals(0750, all.get(1).getDirMode());
    }

    @Test
    void aRefusalEndsTheCopy() throws Exception {
        file("serve", 3);
        scene.guest().refuse("CopyFile", Status.INTERNAL, "ENOSPC");

        assertThrows(Refused.class, () -> GuestFiles.copy(tree, TO, changes));

        assertEquals(1, scene.guest().count("CopyFile"));
    }
}
