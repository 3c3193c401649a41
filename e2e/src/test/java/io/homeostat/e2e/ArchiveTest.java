package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** An archive that is not what it should be is refused, and leaves nothing anywhere. */
final class ArchiveTest {
    private static final String SCRIPT = "#!/bin/sh\nexec sleep 1000\n";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @ParameterizedTest
    @MethodSource("hostile")
    void aHostileArchiveIsRefused(String what, byte[] archive, String why) throws IOException {
        write("a.tar.gz", archive);

        homeostat.apply(declared()).exits(1).says("refused").says(why);

        assertNothingInstalled();
        assertFalse(Files.exists(homeostat.directory().resolve("escaped")));
        assertFalse(Files.exists(homeostat.directory().resolveSibling("escaped")));
        assertFalse(Files.exists(Path.of("/tmp/hs-escaped")));
    }

    static Stream<Arguments> hostile() {
        return Stream.of(
                        Arguments.of(
                                "path traversal",
                                tar().file("../../../../../escaped", 0644, "x"),
                                "has '..' in its name"),
                        Arguments.of("absolute name", tar().file("/tmp/hs-escaped", 0644, "x"), "has an absolute name"),
                        Arguments.of(
                                "symlink out",
                                tar().symlink("link", "../../../../w"),
                                "is a symlink that leads out of the archive"),
                        Arguments.of(
                                "absolute symlink", tar().symlink("link", "/etc"), "is a symlink to the absolute path"),
                        Arguments.of(
                                "write through a symlink",
                                tar().file("real/x", 0644, "x")
                                        .symlink("link", "real")
                                        .file("link/y", 0644, "x"),
                                "would be written through the symlink"),
                        Arguments.of("hard link out", tar().hardLink("link", "/etc/passwd"), "hard link"),
                        Arguments.of("setuid", tar().file("bin/root", 04755, SCRIPT), "setuid"),
                        Arguments.of("setgid", tar().file("bin/root", 02755, SCRIPT), "setuid or setgid"),
                        Arguments.of("device", tar().device("null"), "is a character device"),
                        Arguments.of("bomb", tar().file("zeros", 0644, new byte[80 << 20]), "compression bomb"))
                .map(arguments -> Arguments.of(
                        arguments.get()[0],
                        ((TarGz) arguments.get()[1]).bytes(),
                        arguments.get()[2]));
    }

    @Test
    void whatIsNoArchiveIsCalledByItsName() throws IOException {
        write("a.tar.gz", SCRIPT.getBytes(StandardCharsets.UTF_8));

        homeostat.apply(declared()).exits(1).says("it is a script; pack it into a tar.gz");

        assertNothingInstalled();
    }

    @Test
    void aDamagedArchiveIsRefused() throws IOException {
        byte[] archive = tar().bytes();
        write("a.tar.gz", java.util.Arrays.copyOf(archive, archive.length - 20));

        homeostat.apply(declared()).exits(1).says("damaged");

        assertNothingInstalled();
    }

    @Test
    void anArchiveWithoutTheEntryPointIsRefusedWithWhatItHas() throws IOException {
        write("a.tar.gz", tar().bytes());

        homeostat
                .apply(declared().with("entryPoint", "bin/walk"))
                .exits(1)
                .says("the entry point 'bin/walk' is not in the archive")
                .says("bin/run");

        assertNothingInstalled();
    }

    @Test
    void aCorrectedArchiveIsInstalledByTheNextDeclaration() throws IOException {
        write("a.tar.gz", tar().file("../x", 0644, "x").bytes());
        homeostat.apply(declared()).exits(1);
        write("a.tar.gz", tar().bytes());

        homeostat.apply(declared().with("revision", "2")).exits(0);

        assertEquals("RUNNING 2", homeostat.state("process/run"));
    }

    private void assertNothingInstalled() {
        List<String> left = Trees.listing(homeostat.installs("processes")).keySet().stream()
                .filter(name -> !name.isEmpty() && !name.equals(".staging"))
                .toList();
        assertEquals(List.of(), left);
        assertEquals(
                "INSTALL_FAILED", homeostat.status("process/run").get("state").asText());
        assertEquals(List.of("CONFIG_INSTALL 1", "INSTALL_FAILED 1"), homeostat.events("process/run"));
    }

    private void write(String name, byte[] archive) {
        try {
            Files.write(homeostat.directory().resolve(name), archive);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static TarGz tar() {
        return new TarGz().file("bin/run", 0755, SCRIPT);
    }

    private static Document declared() {
        return Document.process("run")
                .with("revision", "1")
                .with("source.url", "a.tar.gz")
                .with("entryPoint", "bin/run");
    }
}
