package io.homeostat.desired.source;

import static io.homeostat.desired.source.SourceFixture.NOW;
import static io.homeostat.desired.source.SourceFixture.messages;
import static io.homeostat.desired.source.SourceFixture.names;
import static io.homeostat.desired.source.SourceFixture.process;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.yaml.Choice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.InstantSource;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Directories that programs fill: what they leave beside the files declares nothing. */
class MountedConfigTest {
    @TempDir
    Path directory;

    private SourceFixture files;
    private FilesSource source;

    @BeforeEach
    void source() {
        files = new SourceFixture(directory);
        source = new FilesSource(ImmutableList.of(directory), TrustedPath.ANY, Choice.ALL, InstantSource.fixed(NOW));
    }

    @Test
    void aMountedConfigMapDeclaresEachWorkloadOnceAndUnderANameThatOutlivesItsChange() throws IOException {
        files.write("..2026_1/a.yaml", process("a"));
        files.write("..2026_2/a.yaml", process("a", "b"));
        Files.createSymbolicLink(files.path("..data"), Path.of("..2026_1"));
        Path link = Files.createSymbolicLink(files.path("a.yaml"), Path.of("..data/a.yaml"));
        SourceSnapshot first = files.store(source.read(files.stored()));
        assertEquals(List.of("a"), names(first));
        assertEquals(link.toString(), first.content().documents().getFirst().origin());

        Files.createSymbolicLink(files.path("..data_tmp"), Path.of("..2026_2"));
        Files.move(files.path("..data_tmp"), files.path("..data"), StandardCopyOption.ATOMIC_MOVE);
        SourceSnapshot second = files.store(source.read(files.stored()));
        assertEquals(List.of("a", "b"), names(second));
        assertEquals(ImmutableList.of(), messages(second));
    }

    @Test
    void whatEditorsLeaveBesideAFileDeclaresNothing() throws IOException {
        files.write("a.yaml", process("a"));
        for (String left : List.of(".a.yaml.swp", "a.yaml~", "#a.yaml#", "a.yaml.orig", "4913", ".git/a.yaml")) {
            files.write(left, "no: [yaml");
        }
        Files.createSymbolicLink(files.path(".#a.yaml"), Path.of("me@host.1234:567"));
        Files.createSymbolicLink(files.path("lock"), Path.of("me@host.1234:567"));
        SourceSnapshot reading = source.read(files.stored());
        assertEquals(List.of("a"), names(reading));
        assertEquals(ImmutableList.of(), messages(reading));
    }

    @Test
    void anotherNameForTheSameFileDeclaresNothingTwice() throws IOException {
        Path file = files.write("b.yaml", process("b"));
        files.store(source.read(files.stored()));
        Files.createLink(files.path("a.yaml"), file);
        Files.createSymbolicLink(files.path("c.yaml"), file);
        SourceSnapshot reading = files.store(source.read(files.stored()));
        assertEquals(List.of("b"), names(reading));
        assertEquals(ImmutableList.of(), messages(reading));
    }
}
