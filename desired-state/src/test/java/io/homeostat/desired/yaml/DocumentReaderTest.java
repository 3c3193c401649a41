package io.homeostat.desired.yaml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.ReadWorkload;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DocumentReaderTest {
    @TempDir
    Path directory;

    @Test
    void aDirectoryIsReadRecursivelyInNameOrder() throws IOException {
        write("b.yaml", process("b"));
        write("a/z.yml", process("z"));
        write("a.yaml", process("a1") + "---\n" + process("a2"));
        write("c/notes.txt", "not: [yaml");
        write(".hidden.yaml", "not: [yaml");
        write(".git/x.yaml", "not: [yaml");
        ReadResult read = DocumentReader.read(List.of(directory));
        assertEquals(List.of(), read.errors());
        assertEquals(
                List.of("process/z", "process/a1", "process/a2", "process/b"),
                read.declared().stream()
                        .map(workload -> workload.id().toString())
                        .toList());
        ReadWorkload second = read.workloads().get(2);
        assertEquals(directory.resolve("a.yaml") + ":8", second.origin());
        assertEquals(directory.toString(), second.input());
    }

    @Test
    void aFileThatIsNamedItselfMayHaveAnyName() throws IOException {
        Path file = write("workloads.conf", process("a"));
        assertEquals(1, DocumentReader.read(List.of(file)).workloads().size());
    }

    @Test
    void aFileThatIsReachedTwiceIsReadOnce() throws IOException {
        Path file = write("a.yaml", process("a"));
        Files.createSymbolicLink(directory.resolve("same.yaml"), file);
        ReadResult read = DocumentReader.read(List.of(directory, file));
        assertEquals(List.of(), read.errors());
        assertEquals(1, read.workloads().size());
    }

    @Test
    void aWorkloadDeclaredInTwoFilesIsAnErrorThatNamesBoth() throws IOException {
        Path first = write("1.yaml", process("a"));
        Path second = write("2.yaml", process("a"));
        assertEquals(
                List.of(second + ":3:18: metadata.name: process/a is declared twice, first at " + first
                        + ":3:18; remove or rename one"),
                errors(DocumentReader.read(List.of(directory))));
    }

    @Test
    void ofAFileThatDeclaresOneWorkloadAgainAndAgainTheFirstErrorsAreShown() throws IOException {
        write("1.yaml", (process("a") + "---\n").repeat(1500));
        List<String> errors = errors(DocumentReader.read(List.of(directory)));
        assertEquals(1001, errors.size());
        assertTrue(errors.getLast().contains("the first 1000 "), errors.getLast());
    }

    @Test
    void everyErrorSaysForProgramsWhatIsWrongAndWhere() throws IOException {
        write("1.yaml", process("a").replace("install", "instal"));
        write("2.yaml", "apiVersion: homeostat.io/v1\nkind: Process\nspec: {install: local, entryPoint: 1}\n");
        write("3.yaml", "a: [");
        write("4.yaml", process("b") + "---\n" + process("b"));
        Files.createSymbolicLink(directory.resolve("5.yaml"), Path.of("nowhere"));
        assertEquals(
                List.of(
                        "1.yaml UNKNOWN_KEY 5:3 spec",
                        "2.yaml MISSING_KEY 1:1 metadata",
                        "2.yaml VALUE 3:36 spec.entryPoint",
                        "3.yaml SYNTAX 1:5",
                        "4.yaml DUPLICATE 10:18 metadata.name",
                        "5.yaml LINK 0:0"),
                places(DocumentReader.read(List.of(directory))));
    }

    @Test
    void theErrorsOfAllFilesAreReportedAtOnce() throws IOException {
        Path bad = write("1.yaml", process("-").replace("install", "instal"));
        Path good = write("2.yaml", process("b"));
        Path worse = write("3.yaml", "a: [");
        ReadResult read = DocumentReader.read(List.of(worse, bad, good));
        assertEquals(3, read.errors().size(), () -> read.errors().toString());
        assertEquals("1.yaml UNKNOWN_KEY 5:3 spec", places(read).get(1));
        assertEquals(worse.toString(), read.errors().getLast().file());
        assertEquals(WorkloadId.process("b"), read.declared().getFirst().id());
        assertFalse(read.valid());
    }

    @Test
    void pathsThatCanNotBeReadAreErrors() throws IOException {
        Path loop = directory.resolve("dir/loop");
        Files.createDirectories(loop.getParent());
        Files.createSymbolicLink(loop, directory);
        Path nothing = Files.createSymbolicLink(directory.resolve("nothing.yaml"), Path.of("gone"));
        Path itself = Files.createSymbolicLink(directory.resolve("self.yaml"), Path.of("self.yaml"));
        Path missing = directory.resolve("missing");
        List<String> errors = errors(DocumentReader.read(List.of(directory, missing)));
        assertEquals(4, errors.size(), errors::toString);
        assertEquals(loop + ": a symbolic link to a directory it stands in; remove it", errors.getFirst());
        assertEquals(missing + ": no such file or directory", errors.get(1));
        assertTrue(errors.get(2).startsWith(nothing + ": a symbolic link "), errors::toString);
        assertTrue(errors.get(3).startsWith(itself + ": can't be read: "), errors::toString);
    }

    @Test
    void whatIsNoFileInADirectoryIsAnErrorAndNotWaitedFor() throws Exception {
        Path fifo = directory.resolve("fifo.yaml");
        assertEquals(0, new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor());
        assertEquals(List.of("fifo.yaml NO_FILE 0:0"), places(DocumentReader.read(List.of(directory))));
    }

    /** To open one may be to wait for ever. */
    @Test
    void aFileOfTheKernelIsNotOpened() throws IOException {
        Files.createSymbolicLink(directory.resolve("kernel.yaml"), Path.of("/proc/self/comm"));
        assertEquals(List.of(), places(DocumentReader.read(List.of(directory))));
    }

    @Test
    void theNameOfAFileIsShownWithoutWhatATerminalObeys() throws IOException {
        write("\u001b[31m\n\u202e.yaml", "a: [");
        String shown = errors(DocumentReader.read(List.of(directory))).getFirst();
        assertTrue(shown.startsWith(directory + "/?[31m ?.yaml:"), shown);
    }

    @Test
    void whatMayNotBeReadIsAnError() throws IOException {
        Path file = write("a.yaml", process("a"));
        Path closed = write("closed/b.yaml", process("b")).getParent();
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
        Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("---------"));
        try {
            assumeFalse(Files.isReadable(file), "root reads everything");
            assertEquals(
                    List.of(
                            file + ": can't be read: permission denied",
                            closed + ": the directory can't be read: permission denied"),
                    errors(DocumentReader.read(List.of(directory))));
        } finally {
            Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("rwx------"));
        }
    }

    @Test
    void aFileThatIsTooLongIsRefused() throws IOException {
        Path file = directory.resolve("long.yaml");
        Files.write(file, new byte[TextFile.MAX_BYTES + 1]);
        assertEquals(List.of("long.yaml TOO_LARGE 0:0"), places(DocumentReader.read(List.of(file))));
    }

    @Test
    void pathsOfSourcesStartFromTheirFile() throws IOException {
        Path file = write("sub/a.yaml", plugin("../archives/a b.tgz"));
        String url = source(DocumentReader.read(List.of(file))).url();
        assertEquals(
                "file://" + directory.toRealPath().resolve("archives") + "/a%20b.tgz",
                url.replace(directory.toString(), directory.toRealPath().toString()));
    }

    @Test
    void theDocumentsOfAStreamStartFromItsDirectory() {
        var stream = new ByteArrayInputStream(plugin("a.tgz").getBytes(StandardCharsets.UTF_8));
        ReadResult read = DocumentReader.readAll(List.of(new Input.Stream("-", stream, Path.of("/base"))));
        assertEquals("file:///base/a.tgz", source(read).url());
        assertEquals("-:1", read.workloads().getFirst().origin());
        assertEquals("-", read.workloads().getFirst().input());
    }

    @Test
    void whatComesFromANetworkWithoutAChecksumIsAWarningWithoutItsQuery() throws IOException {
        Path file = write("a.yaml", plugin("https://a.example/a.tgz?token=hush"));
        ReadResult read = DocumentReader.read(List.of(file));
        assertTrue(read.valid());
        assertEquals(
                file + ":6:17: spec.source.url: no sha256 beside it, so what is fetched will not be verified",
                read.warnings().getFirst().toString());
        write("a.yaml", plugin("https://a.example/a.tgz, sha256: " + "0a".repeat(32)));
        assertEquals(List.of(), DocumentReader.read(List.of(file)).warnings());
        write("a.yaml", plugin("a.tgz"));
        assertEquals(List.of(), DocumentReader.read(List.of(file)).warnings());
    }

    @Test
    void aSizeThatWasProbablyMeantWithAUnitIsAWarning() throws IOException {
        Path file = write("a.yaml", """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: a}
                spec: {install: local, entryPoint: /bin/a, limits: {memory: 128}}
                """);
        ReadResult read = DocumentReader.read(List.of(file));
        assertTrue(read.valid());
        assertEquals(
                file + ":4:61: spec.limits.memory: 128 bytes, in which no program starts; write 128Mi for MiB",
                read.warnings().getFirst().toString());
    }

    @Test
    void twoSandboxesOfOneGuestAreAWarning() throws IOException {
        Path file =
                write("a.yaml", sandbox("a", "unix:///run/a.sock") + "---\n" + sandbox("b", "unix:///run/b/../a.sock"));
        ReadResult read = DocumentReader.read(List.of(file));
        assertTrue(read.valid());
        assertEquals(
                file + ":8:18: spec.endpoint: unix:///run/a.sock is that of sandbox/a, too, and one of them only can be"
                        + " launched",
                read.warnings().getFirst().toString());
        write("a.yaml", sandbox("a", "vsock://3:1024") + "---\n" + sandbox("b", "vsock://4:1024"));
        assertEquals(List.of(), DocumentReader.read(List.of(file)).warnings());
    }

    private static String sandbox(String name, String endpoint) {
        return """
                apiVersion: homeostat.io/v1
                kind: Sandbox
                metadata: {name: %s}
                spec: {endpoint: "%s"}
                """.formatted(name, endpoint);
    }

    private static Source source(ReadResult read) {
        assertEquals(List.of(), read.errors());
        PluginSpec spec = (PluginSpec) read.declared().getFirst().spec();
        return Objects.requireNonNull(spec.source());
    }

    private static List<String> errors(ReadResult read) {
        return read.errors().stream().map(Problem::toString).toList();
    }

    /** The errors without their words: file, kind and place of each. */
    private static List<String> places(ReadResult read) {
        return read.errors().stream()
                .map(error -> Path.of(error.file()).getFileName() + " " + error.kind() + " " + error.whereInFile())
                .toList();
    }

    private Path write(String name, String text) throws IOException {
        Path file = directory.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }

    private static String process(String name) {
        return """
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                spec:
                  install: local
                  entryPoint: /bin/a
                """.formatted(name);
    }

    private static String plugin(String url) {
        return """
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: a}
                spec:
                  revision: r
                  source: {url: %s}
                  entryPoint: bin/a
                """.formatted(url);
    }
}
