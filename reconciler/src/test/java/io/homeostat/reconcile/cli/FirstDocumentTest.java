package io.homeostat.reconcile.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ObjectArrays;
import com.google.common.hash.Hashing;
import com.google.common.io.MoreFiles;
import com.sun.net.httpserver.HttpServer;
import io.homeostat.reconcile.cli.Shell.Result;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** What {@code init} and {@code bundle} write is valid, whole and says what it leaves out. */
class FirstDocumentTest {
    @TempDir
    Path directory;

    private Shell shell;

    @BeforeEach
    void openShell() throws IOException {
        shell = new Shell(directory).with(Map.of("TMPDIR", Files.createDirectory(directory.resolve("tmp")) + ""));
    }

    @Test
    void aProgramOfThisMachineBecomesAProcessOfItsName() throws IOException {
        Path program = program(directory, "node exporter");

        Result result = shell.plain(
                "init", "binary", program.toString(), "--argument=--web", "--argument", "0027", "--argument", "a: b");

        assertEquals(0, result.status(), result.err());
        assertEquals("", result.err());
        assertEquals("""
                # Made from %1$s.
                apiVersion: homeostat.io/v1
                kind: Process
                metadata:
                  name: node-exporter
                spec:
                  install: local
                  entryPoint: %1$s
                  arguments:
                  - --web
                  - '0027'
                  - 'a: b'
                """.formatted(program), result.out());
        assertValid(result.out());
    }

    @Test
    void itIsWrittenToANewFileForItsOwnerAlone() throws IOException {
        String program = program(directory, "web").toString();
        Path file = directory.resolve("web.yaml");

        Result written = shell.plain("init", "binary", program, "--to", "web.yaml");
        assertEquals(0, written.status(), written.err());
        assertEquals("", written.out());
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
        assertValid(Files.readString(file));

        Files.writeString(file, "mine");
        Result refused = shell.plain("init", "binary", program, "--to", "web.yaml");
        assertEquals(1, refused.status());
        assertTrue(refused.err().contains(file + " exists already"), refused.err());
        assertEquals("mine", Files.readString(file));

        assertEquals(
                0,
                shell.plain("init", "binary", program, "--to", "web.yaml", "--force")
                        .status());
        assertValid(Files.readString(file));
        assertNothingLeft();
    }

    @Test
    void whatCanNotBeMadeSaysWhyAndWhatToDo() throws IOException {
        shell.write("text", "");
        assertUsage("needs WHAT and FILE", "init");
        assertUsage("needs WHAT and FILE", "init", "binary");
        assertUsage("nothing can be made from a 'binry'", "init", "binry", "/bin/sh");
        assertUsage("--task means nothing for binary", "init", "binary", "/bin/sh", "--task", "a");
        assertUsage("--plugin means nothing for binary", "init", "binary", "/bin/sh", "--plugin");
        assertFailure("there is no file " + directory + "/gone", "init", "binary", "gone");
        assertFailure(
                "there is no file " + directory
                        + "/gone.service; where systemd has it says: systemctl show -P FragmentPath gone.service",
                "init",
                "systemd",
                "gone.service");
        assertFailure("/text is not executable; chmod +x", "init", "binary", "text");
        assertFailure("metadata.name: 'a b' is not possible", "init", "binary", "/bin/sh", "--name", "a b");
        assertFailure("there is no directory " + directory + "/no", "init", "binary", "/bin/sh", "--to", "no/a.yaml");
        assertFailure("/tmp is a directory", "init", "binary", "/bin/sh", "--to", "tmp", "--force");
        assertFailure(directory + "/text would be refused: it is no tar.gz, tar or zip", "init", "archive", "text");
        assertNothingLeft();
    }

    @Test
    void atATerminalItAsksAndWhatIsInBracketsIsTheAnswerOfNone() throws IOException {
        Result result = shell.atKeyboard("\n/bin/sh\nshell\n").plain("init");
        assertEquals(0, result.status(), result.err());
        assertEquals("shell", assertValid(result.out()).at("/metadata/name").asText());
        assertTrue(result.err().startsWith("What is there: binary, archive, "), result.err());
        assertTrue(
                result.err().contains("[binary]? Where is it? How is it to be called [by the file]? "), result.err());

        shell.atKeyboard("");
        assertUsage("standard input has ended", "init");
        shell.atKeyboard("\n\n");
        assertUsage("name a file", "init");
    }

    @Test
    void whatIsNotTakenOverIsAWarningWithItsPlace() throws IOException {
        shell.write("web.service", "[Service]\nExecStart=/bin/true\nPrivateTmp=yes\n");
        shell.write(
                "web.conf",
                "[supervisorctl]\npassword=geheim\n[program:a]\ncommand=/bin/true\nenvironment=A=%(ENV_X)s,B=geheim\n");
        shell.write("eco.json", "{\"apps\": [{\"script\": \"/bin/true\", \"time\": true}]}");
        shell.write("job.json", "{\"TaskGroups\": [{\"Tasks\": [{\"Name\": \"a\", \"Driver\": \"exec\"}]}]}");

        Result systemd = shell.plain("init", "systemd", "web.service");
        assertEquals(0, systemd.status(), systemd.err());
        assertEquals(
                "warning: " + directory
                        + "/web.service:3:1: not taken over: PrivateTmp=yes: Homeostat has no such field\n",
                systemd.err());
        assertTrue(systemd.out().contains("  # not taken over: PrivateTmp=yes"), systemd.out());

        Result supervisor = shell.plain("init", "supervisor", "web.conf", "--program", "a");
        assertEquals(0, supervisor.status(), supervisor.err());
        assertTrue(supervisor.err().contains("web.conf:2:1: not taken over: [supervisorctl] password: "));
        assertFalse((supervisor.err() + supervisor.out()).contains("geheim"), supervisor.err());

        assertEquals(
                0, shell.plain("init", "pm2", "eco.json", "--program", "true").status());
        Result json = shell.plain("init", "nomad", "job.json", "--task", "a", "-o", "json");
        assertEquals(0, json.status(), json.err());
        assertTrue(new ObjectMapper().readTree(json.out()).path("text").asText().contains("kind: Task"));
        assertTrue(json.err().contains("\"warning\":{"), json.err());
    }

    @Test
    void anArchiveIsHashedAndItsOnlyProgramFound() throws IOException {
        Path archive = bundled("web");
        Files.move(archive, directory.resolve("web-1.2.tar.gz"));

        Result result = shell.plain("init", "archive", "web-1.2.tar.gz", "--plugin", "--revision", "1.2");

        assertEquals(0, result.status(), result.err());
        JsonNode document = assertValid(result.out());
        assertEquals("web", document.at("/metadata/name").asText());
        assertEquals("Plugin", document.at("/kind").asText());
        assertEquals("1.2", document.at("/spec/revision").asText());
        assertEquals("bin/run", document.at("/spec/entryPoint").asText());
        assertEquals(
                sha256(directory.resolve("web-1.2.tar.gz")),
                document.at("/spec/source/sha256").asText());
        assertNothingLeft();
    }

    @Test
    void ofAnArchiveThatWouldBeRefusedOnlyThatIsSaid() throws IOException {
        Path tree = tree("web");
        Path archive = bundle(tree, "web");
        Files.createSymbolicLink(tree.resolve("link"), Path.of("../../etc/passwd"));
        Path cut = directory.resolve("cut.tar.gz");
        Files.write(cut, Arrays.copyOf(Files.readAllBytes(archive), 60));

        assertEquals(
                "homeostat: bundle: an archive of " + tree
                        + " would be refused: entry 'link' is a symlink that leads out of the archive\n",
                shell.plain(bundling(tree, "other")).err());
        assertEquals(
                "homeostat: init: " + archive + " would be refused: the entry point 'none' is not in the archive\n",
                shell.plain("init", "archive", archive.toString(), "--entry-point", "none")
                        .err()
                        .replaceAll(";.*", ""));
        String damaged = shell.plain("init", "archive", cut.toString()).err();
        assertTrue(damaged.startsWith("homeostat: init: " + cut + " is damaged: "), damaged);
        assertFalse(damaged.contains("cache"), damaged);
        assertNothingLeft();
    }

    @Test
    void anArchiveOfAServerIsFetchedOnceAndItsQueryIsNotShown() throws Exception {
        byte[] content = Files.readAllBytes(bundled("web"));
        AtomicInteger requests = new AtomicInteger();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            requests.incrementAndGet();
            exchange.sendResponseHeaders(200, content.length);
            exchange.getResponseBody().write(content);
            exchange.close();
        });
        server.start();
        try {
            String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/web.tgz?signature=geheim";
            Result result = shell.plain("init", "archive", url);

            assertEquals(0, result.status(), result.err());
            assertEquals(1, requests.get());
            assertFalse(result.out().lines().findFirst().orElseThrow().contains("geheim"), result.out());
            assertTrue(result.out().contains("url: " + url), result.out());
        } finally {
            server.stop(0);
        }
        assertNothingLeft();
    }

    @Test
    void whichOfSeveralProgramsIsMeantHasToBeSaid() throws IOException {
        Path tree = tree("web");
        program(tree.resolve("bin"), "other");
        Path archive = bundle(tree, "web");

        assertFailure("choose one with --entry-point: bin/other, bin/run", "init", "archive", archive.toString());
        assertFailure(
                "'bin/none' is not in the archive; executable are",
                "init",
                "archive",
                archive.toString(),
                "--entry-point",
                "bin/none");
        Result result = shell.plain("init", "archive", archive.toString(), "--entry-point", "bin/other");
        assertEquals(
                "bin/other", assertValid(result.out()).at("/spec/entryPoint").asText());
    }

    @Test
    void theSameContentsMakeTheSameBytesWhateverTheirTimesAndOwners() throws IOException {
        Path first = tree("a");
        Path second = tree("b");
        Files.setLastModifiedTime(second.resolve("bin/run"), FileTime.fromMillis(1));
        Files.setPosixFilePermissions(second.resolve("bin/run"), PosixFilePermissions.fromString("rwx------"));

        Path one = bundle(first, "web");
        Path other = bundle(second, "other");

        assertEquals(-1, Files.mismatch(one, other));
        assertTrue(one.getFileName().toString().matches("web-[0-9a-f]{12}\\.tar\\.gz"), one.toString());
        JsonNode document = assertValid(Files.readString(directory.resolve("out/web.yaml")));
        assertEquals(sha256(one), document.at("/spec/source/sha256").asText());
        assertEquals(
                one.getFileName().toString(),
                "web-" + document.at("/spec/revision").asText() + ".tar.gz");

        Files.writeString(second.resolve("more"), "more");
        Path changed = bundle(second, "third");
        assertFalse(changed.getFileName()
                .toString()
                .endsWith(one.getFileName().toString().substring(3)));
    }

    @Test
    void bundlingAgainReplacesTheDocumentOnlyIfItMay() throws IOException {
        Path tree = tree("web");
        bundle(tree, "web");
        Path document = directory.resolve("out/web.yaml");
        Files.writeString(document, "mine");

        assertFailure("web.yaml exists already", bundling(tree, "web"));
        assertEquals("mine", Files.readString(document));

        String[] forced = ObjectArrays.concat(bundling(tree, "web"), "--force");
        assertEquals(0, shell.plain(forced).status());
        assertValid(Files.readString(document));
        assertNothingLeft();
    }

    @Test
    void theSameArchiveIsReadableForThoseWhoMayReadItsContentsNow() throws IOException {
        Path tree = tree("web");
        Path archive = bundle(tree, "web");
        assertEquals("rw-r--r--", PosixFilePermissions.toString(Files.getPosixFilePermissions(archive)));
        Files.setPosixFilePermissions(tree.resolve("übung"), PosixFilePermissions.fromString("rw-------"));

        Files.delete(directory.resolve("out/web.yaml"));
        assertEquals(archive, bundle(tree, "web"));

        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(archive)));
        assertNothingLeft();
    }

    @Test
    void anotherArchiveOfThisNameIsReplacedOnlyIfItMay() throws IOException {
        Path tree = tree("web");
        Path archive = bundle(tree, "web");
        Files.delete(directory.resolve("out/web.yaml"));
        Files.writeString(archive, "mine");

        assertFailure(archive + " exists already", bundling(tree, "web"));
        assertEquals("mine", Files.readString(archive));
        assertNothingLeft();
    }

    @Test
    void whatNobodyCouldInstallIsNotBundled() throws Exception {
        Path tree = tree("web");
        assertFailure(
                "the entry point 'bin/none' is not in the archive",
                "bundle",
                tree.toString(),
                "--entry-point",
                "bin/none",
                "--to",
                out());
        Files.writeString(tree.resolve("text"), "");
        assertFailure("'text' is not executable", "bundle", tree.toString(), "--entry-point", "text", "--to", out());
        assertFailure("there is no directory", "bundle", "gone", "--entry-point", "a");
        assertFailure("is in the directory that is to be bundled", "bundle", ".", "--entry-point", "a", "--name", "a");
        assertFailure("metadata.name: ", "bundle", tree.toString(), "--entry-point", "bin/run", "--name", "../a");
        assertFailure("spec.revision: ", "bundle", tree.toString(), "--entry-point", "bin/run", "--revision", "../a");
        assertFailure(
                "spec.source.url: ", "bundle", tree.toString(), "--entry-point", "bin/run", "--url-prefix", "ftp://a");

        Path link = Files.createSymbolicLink(tree.resolve("link"), Path.of("../../etc/passwd"));
        assertFailure("is a symlink that leads out of the archive", bundling(tree, "web"));
        Files.delete(link);
        Path control = Files.createFile(tree.resolve("a\tb"));
        assertFailure("has a control character in its name", bundling(tree, "web"));
        Files.delete(control);
        Path fifo = tree.resolve("fifo");
        assertEquals(0, new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor());
        assertFailure("fifo is neither a file nor a directory nor a symlink", bundling(tree, "web"));
        Files.delete(fifo);
        Path run = tree.resolve("bin/run");
        assertEquals(
                0, new ProcessBuilder("chmod", "u+s", run.toString()).start().waitFor());
        assertFailure("bin/run has the setuid or setgid bit", bundling(tree, "web"));
        assertNothingLeft();
        assertEquals(0, MoreFiles.listFiles(directory.resolve("out")).size());
    }

    @Test
    void aKeyThatIsNoneIsNotQuoted() throws IOException {
        Path tree = tree("web");
        shell.write("key", "-----BEGIN PRIVATE KEY-----\nZ2VoZWlt\n-----END PRIVATE KEY-----\n");
        assertFailure(
                "key: it is no Ed25519 key in PEM",
                ObjectArrays.concat(bundling(tree, "web"), new String[] {"--key", "key"}, String.class));
        assertFailure(
                "gone: no such file or directory",
                ObjectArrays.concat(bundling(tree, "web"), new String[] {"--key", "gone"}, String.class));
    }

    private String out() throws IOException {
        return Files.createDirectories(directory.resolve("out")).toString();
    }

    private String[] bundling(Path tree, String name) throws IOException {
        return new String[] {"bundle", tree.toString(), "--entry-point", "bin/run", "--name", name, "--to", out()};
    }

    private Path bundle(Path tree, String name) throws IOException {
        Result result = shell.plain(bundling(tree, name));
        assertEquals(0, result.status(), result.err());
        return Path.of(result.out().lines().findFirst().orElseThrow());
    }

    private Path bundled(String name) throws IOException {
        return bundle(tree(name), name);
    }

    private Path tree(String name) throws IOException {
        Path tree = Files.createDirectories(directory.resolve("trees").resolve(name));
        program(Files.createDirectories(tree.resolve("bin")), "run");
        Files.createDirectories(tree.resolve("empty"));
        Files.writeString(tree.resolve("übung"), "text");
        Files.createSymbolicLink(tree.resolve("latest"), Path.of("bin/run"));
        return tree;
    }

    private static Path program(Path in, String name) throws IOException {
        Path program = Files.writeString(in.resolve(name), "#!/bin/sh\nexec sleep 1000\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        return program;
    }

    private JsonNode assertValid(String text) throws IOException {
        Path file = shell.write("written.yaml", text);
        Result result = shell.plain("validate", "-f", file.toString());
        assertEquals(0, result.status(), result.err());
        JsonNode json =
                new ObjectMapper().valueToTree(new Load(LoadSettings.builder().build()).loadFromString(text));
        Files.delete(file);
        return json;
    }

    private void assertFailure(String words, String... line) {
        Result result = shell.plain(line);
        assertEquals(1, result.status(), result.err());
        assertEquals("", result.out());
        assertTrue(result.err().contains(words), result.err());
    }

    private void assertUsage(String words, String... line) {
        Result result = shell.plain(line);
        assertEquals(64, result.status(), result.err());
        assertTrue(result.err().contains(words), result.err());
    }

    private void assertNothingLeft() throws IOException {
        assertEquals(0, MoreFiles.listFiles(directory.resolve("tmp")).size());
        try (var files = Files.walk(directory)) {
            assertEquals(
                    0, files.filter(file -> file.toString().endsWith(".part")).count());
        }
    }

    private static String sha256(Path file) throws IOException {
        return MoreFiles.asByteSource(file).hash(Hashing.sha256()).toString();
    }
}
