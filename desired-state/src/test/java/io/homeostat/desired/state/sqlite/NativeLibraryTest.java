package io.homeostat.desired.state.sqlite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.io.Resources;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.sqlite.util.OSInfo;

final class NativeLibraryTest {
    private static final String NAME = "libsqlitejdbc.so";

    @TempDir
    Path directory;

    @Test
    void aLibraryThatTheLauncherNamesIsUsedWhereItIsAndNotCopied() throws Exception {
        Path library = Files.createDirectory(directory.resolve("native")).resolve(NAME);
        String bundled = "org/sqlite/native/" + OSInfo.getNativeLibFolderPathForCurrentOS() + "/" + NAME;
        Files.write(library, Resources.toByteArray(Resources.getResource(bundled)));
        Path temporary = Files.createDirectory(directory.resolve("tmp"));

        List<String> arguments = List.of(
                "-Dorg.sqlite.lib.path=" + library.getParent(),
                "-Dorg.sqlite.lib.name=" + NAME,
                "-Djava.io.tmpdir=" + temporary);
        Path state = directory.resolve("state");
        try (ChildJvm writer = ChildJvm.start(arguments, WaitingWriter.class, state.toString())) {
            writer.awaitLines(1);
            String maps = Files.readString(Path.of("/proc/" + writer.pid() + "/maps"));
            assertTrue(maps.contains(library.toString()), maps);
            try (Stream<Path> copies = Files.list(temporary)) {
                assertEquals(
                        List.of(),
                        copies.filter(path -> path.toString().contains("sqlite"))
                                .toList());
            }
        }
    }
}
