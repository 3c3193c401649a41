package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;

/** An archive that is not what it should be is refused, and leaves nothing anywhere. */
final class ArchiveTest {
    private static final String SCRIPT = "#!/bin/sh\nexec sleep 1000\n";

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    /** @param why it is refused, as its line has to say */
    private record Refused(Document document, List<String> why) {}

    @Test
    void hostileAndDamagedArchivesAreRefused() {
        byte[] whole = tar().bytes();
        List<Refused> cases = List.of(
                refused("path-traversal", tar().file("../../../../../escaped", 0644, "x"), "refused", "'..'"),
                refused("absolute-name", tar().file("/tmp/hs-escaped", 0644, "x"), "refused", "absolute name"),
                refused("symlink-out", tar().symlink("link", "../../../../w"), "refused", "leads out"),
                refused("absolute-symlink", tar().symlink("link", "/etc"), "refused", "absolute path '/etc'"),
                refused(
                        "write-through-a-symlink",
                        tar().file("real/x", 0644, "x").symlink("link", "real").file("link/y", 0644, "x"),
                        "refused",
                        "symlink 'link'"),
                refused("hard-link-out", tar().hardLink("link", "/etc/passwd"), "refused", "hard link"),
                refused("setuid", tar().file("bin/root", 04755, SCRIPT), "refused", "setuid"),
                refused("setgid", tar().file("bin/root", 02755, SCRIPT), "refused", "setuid or setgid"),
                refused("device", tar().device("null"), "refused", "is a character device"),
                refused("bomb", tar().file("zeros", 0644, new byte[80 << 20]), "refused", "compression bomb"),
                refused("no-archive", SCRIPT.getBytes(StandardCharsets.UTF_8), "it is a script; pack it into a tar.gz"),
                refused("damaged", Arrays.copyOf(whole, whole.length - 20), "damaged"),
                new Refused(
                        declared("no-entry-point", whole).with("entryPoint", "bin/walk"),
                        List.of("'bin/walk'", "bin/run")));

        Result applied = homeostat.apply(cases.stream().map(Refused::document).toArray(Document[]::new));

        applied.exits(1);
        List<String> left = Trees.listing(homeostat.installs("processes")).keySet().stream()
                .filter(name -> !name.isEmpty() && !name.equals(".staging"))
                .toList();
        assertEquals(List.of(), left);
        assertFalse(Files.exists(homeostat.directory().resolve("escaped")));
        assertFalse(Files.exists(homeostat.directory().resolveSibling("escaped")));
        assertFalse(Files.exists(Path.of("/tmp/hs-escaped")));
        assertAll(cases.stream().<Executable>map(one -> () -> {
            String id = one.document().id();
            String line = applied.lineOf(id);
            one.why().forEach(words -> assertTrue(line.contains(words), line));
            assertEquals("INSTALL_FAILED", homeostat.status(id).get("state").asText());
            assertEquals(List.of("CONFIG_INSTALL 1", "INSTALL_FAILED 1"), homeostat.events(id));
        }));
    }

    @Test
    void aCorrectedArchiveIsInstalledByTheNextDeclaration() {
        homeostat.apply(declared("run", tar().file("../x", 0644, "x").bytes())).exits(1);

        homeostat.applied(declared("run", tar().bytes()).with("revision", "2"));

        assertEquals("RUNNING 2", homeostat.state("process/run"));
    }

    private Refused refused(String name, TarGz archive, String... why) {
        return refused(name, archive.bytes(), why);
    }

    private Refused refused(String name, byte[] archive, String... why) {
        return new Refused(declared(name, archive), List.of(why));
    }

    private Document declared(String name, byte[] archive) {
        try {
            Files.write(homeostat.directory().resolve(name + ".tar.gz"), archive);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Document.process(name)
                .with("revision", "1")
                .with("source.url", name + ".tar.gz")
                .with("entryPoint", "bin/run");
    }

    private static TarGz tar() {
        return new TarGz().file("bin/run", 0755, SCRIPT);
    }
}
