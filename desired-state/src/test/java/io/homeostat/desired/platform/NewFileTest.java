package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NewFileTest {
    private static final Set<PosixFilePermission> ALL = PosixFilePermissions.fromString("rw-r--r--");

    @TempDir
    Path root;

    private Path directory = Path.of("");
    private Path elsewhere = Path.of("");

    @BeforeEach
    void setUp() throws IOException {
        directory = Files.createDirectory(root.resolve("theirs"));
        elsewhere = Files.createDirectory(root.resolve("elsewhere"));
        Files.writeString(elsewhere.resolve("file"), "precious", StandardCharsets.UTF_8);
    }

    private static void write(NewFile file, Set<PosixFilePermission> permissions) throws IOException {
        try (FileChannel out = file.create(permissions)) {
            out.write(ByteBuffer.wrap("new".getBytes(StandardCharsets.UTF_8)));
        }
    }

    private static String permissions(Path file) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
    }

    @Test
    void aFileGetsItsNameOnceItIsWritten() throws IOException {
        Path place = directory.resolve("file");
        try (NewFile file = NewFile.of(place)) {
            write(file, NewFile.OURS);
            assertEquals("rw-------", permissions(file.part()));
            assertTrue(Files.notExists(place));

            file.add();
        }
        try (NewFile file = NewFile.of(place)) {
            write(file, ALL);
            assertThrows(FileAlreadyExistsException.class, file::add);
            file.replace();
        }

        assertEquals("new", Files.readString(place));
        assertEquals("rw-r--r--", permissions(place));
        assertEquals(List.of(place), entries());
    }

    private List<Path> entries() throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.toList();
        }
    }

    @Test
    void whatIsGivenUpIsGone() throws IOException {
        try (NewFile file = NewFile.of(directory.resolve("file"))) {
            write(file, NewFile.OURS);
        }

        assertEquals(List.of(), entries());
    }

    @Test
    void itGetsAnotherNameIfThatIsKnownLater() throws IOException {
        try (NewFile file = NewFile.of(directory.resolve("file"))) {
            write(file, NewFile.OURS);
            file.rename("other");
            file.add();
        }

        assertEquals(List.of(directory.resolve("other")), entries());
    }

    @Test
    void whatTakesThePlaceOfItsDirectoryIsLeftAlone() throws IOException {
        Path place = directory.resolve("file");
        Path moved = root.resolve("moved");
        try (NewFile file = NewFile.of(place)) {
            write(file, ALL);
            Files.move(directory, moved);
            Files.createSymbolicLink(directory, elsewhere);
            file.replace();
        }

        assertEquals("precious", Files.readString(elsewhere.resolve("file")));
        assertEquals("new", Files.readString(moved.resolve("file")));
    }

    @Test
    void rootIsNotLedElsewhereByLinksOfOthers() throws IOException {
        assumeTrue(TrustedPath.isRoot(), "only root can give a directory to somebody else");
        Path home = Files.createDirectory(root.resolve("home"));
        Path link = Files.createSymbolicLink(home.resolve("link"), elsewhere);
        NewFile.of(link.resolve("file")).close();
        Files.setAttribute(home, "unix:uid", 65_534);
        Path ours = Files.createSymbolicLink(root.resolve("ours"), Path.of("theirs/../home"));
        NewFile.of(ours.resolve("file")).close();

        FileSystemException refused = assertThrows(
                FileSystemException.class,
                () -> NewFile.of(link.resolve("file")).close());

        assertEquals(
                "it is " + elsewhere.toRealPath() + ", by a link that others can change; if that is right, name it so",
                refused.getReason());
    }

    @Test
    void whyADirectoryCanNotBeOpenedIsSaid() {
        assertThrows(
                NoSuchFileException.class,
                () -> NewFile.of(root.resolve("none/file")).close());
    }
}
