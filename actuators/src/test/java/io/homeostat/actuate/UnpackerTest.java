package io.homeostat.actuate;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.Bytes;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Installation;
import io.homeostat.observe.InstallationMarker;
import io.homeostat.observe.InstallationObserver;
import io.homeostat.observe.Observation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class UnpackerTest {
    private static final WorkloadId ID = Machine.ID;
    private static final String DIRECTORY = "greeter_1";

    @TempDir
    private Path temp;

    private Machine machine;
    private Unpacker unpacker;

    @BeforeEach
    void setUp() {
        machine = Machine.in(temp);
        unpacker = new Unpacker(machine.layout(), UnpackLimits.DEFAULT);
    }

    @Test
    void aTarGzBecomesAnInstallation() throws Exception {
        String key = machine.cached(ordinary().tarGz());

        unpack(key, "bin/greeter");

        assertEquals(ImmutableList.of(new Installation(DIRECTORY, "1", key, key)), machine.installations(ID));
        assertOrdinary();
    }

    @Test
    void aPlainTarBecomesAnInstallation() throws Exception {
        unpack(machine.cached(ordinary().tar()), "bin/greeter");

        assertOrdinary();
    }

    @Test
    void aZipBecomesAnInstallation() throws Exception {
        byte[] zip = new ZipBuilder()
                .program("bin/greeter")
                .file("share/text", 0664, "hello".getBytes(UTF_8))
                .symlink("greeter", "bin/greeter")
                .zip();

        unpack(machine.cached(zip), "bin/greeter");

        assertOrdinary();
    }

    @Test
    void whatWasUnpackedIsFoundWholeAndLaterDamageIsFound() throws Exception {
        TarBuilder tar = ordinary()
                .file("twice", "first")
                .file("twice", "second")
                .hardLink("linked", "bin/greeter")
                .directory("empty", 0)
                .file("name with \u00e9 and \"quotes\"", "x");
        String key = machine.cached(tar.tarGz());
        unpack(key, "bin/greeter");
        InstallationObserver observer = new InstallationObserver(machine.layout());
        Installation whole = new Installation(DIRECTORY, "1", key, key);
        assertEquals(Observation.seen(ImmutableList.of(whole)), observer.examined(ID));

        Files.writeString(machine.install(DIRECTORY).resolve("twice"), "third!");

        assertEquals(
                Observation.seen(ImmutableList.of(whole.withDamage("twice has other content"))), observer.examined(ID));
    }

    private static TarBuilder ordinary() {
        return new TarBuilder()
                .directory("./", 0700)
                .directory("./bin", 0775)
                .program("./bin/greeter")
                .file("share/text", 0664, "hello".getBytes(UTF_8))
                .symlink("greeter", "bin/greeter");
    }

    private void assertOrdinary() throws IOException {
        Path place = machine.install(DIRECTORY);
        assertEquals("rwxr-xr-x", mode(place), "whatever the archive says of its root, others must be able to enter");
        assertEquals("rwxr-xr-x", mode(place.resolve("bin")));
        assertEquals("rwxr-xr-x", mode(place.resolve("bin/greeter")));
        assertEquals("rw-r--r--", mode(place.resolve("share/text")));
        assertEquals("hello", Files.readString(place.resolve("share/text")));
        assertEquals(Path.of("bin/greeter"), Files.readSymbolicLink(place.resolve("greeter")));
        assertFalse(Files.exists(machine.layout().staging(ID)), "nothing is left of the unpacking");
    }

    @Test
    void modesAreKeptExceptWhereOthersCouldWriteOrTheOwnerCouldNot() throws Exception {
        TarBuilder tar = new TarBuilder()
                .program("run")
                .file("all", 0777, new byte[0])
                .file("none", 0, new byte[0])
                .file("private", 0700, new byte[0])
                .file("sticky", 01644, new byte[0])
                .directory("closed", 0)
                .directory("tmp", 01777)
                .file("closed/inside", "x");

        unpack(machine.cached(tar.tarGz()), "run");

        Path place = machine.install(DIRECTORY);
        assertEquals("rwxr-xr-x", mode(place.resolve("all")));
        assertEquals("rw-------", mode(place.resolve("none")));
        assertEquals("rwx------", mode(place.resolve("private")));
        assertEquals(0100644, Files.getAttribute(place.resolve("sticky"), "unix:mode"));
        assertEquals("rwx------", mode(place.resolve("closed")));
        assertEquals(0040755, Files.getAttribute(place.resolve("tmp"), "unix:mode"));
    }

    @Test
    void theOwnerIsWhoeverUnpacks() throws Exception {
        TarArchiveEntry entry = new TarArchiveEntry("run", true);
        entry.setMode(0755);
        entry.setIds(12345, 12345);

        unpack(machine.cached(new TarBuilder().put(entry, new byte[0]).tarGz()), "run");

        assertEquals(
                Files.getAttribute(temp, "unix:uid"),
                Files.getAttribute(machine.install(DIRECTORY).resolve("run"), "unix:uid"));
    }

    @Test
    void theTimeOfChangeIsKept() throws Exception {
        TarArchiveEntry entry = new TarArchiveEntry("run", true);
        entry.setMode(0755);
        entry.setLastModifiedTime(FileTime.fromMillis(1_500_000_000_000L));
        TarArchiveEntry strange = new TarArchiveEntry("strange", true);
        strange.setLastModifiedTime(FileTime.fromMillis(-5_000_000));

        unpack(
                machine.cached(new TarBuilder()
                        .put(entry, new byte[0])
                        .put(strange, new byte[0])
                        .tarGz()),
                "run");

        Path place = machine.install(DIRECTORY);
        assertEquals(FileTime.fromMillis(1_500_000_000_000L), Files.getLastModifiedTime(place.resolve("run")));
        assertEquals(FileTime.fromMillis(0), Files.getLastModifiedTime(place.resolve("strange")));
    }

    @Test
    void linksInsideTheArchiveWorkAlsoToWhatComesLater() throws Exception {
        TarBuilder tar = new TarBuilder()
                .symlink("lib/current", "../versions/2")
                .symlink("versions/latest", "2")
                .symlink("dangling", "not/there")
                .program("versions/2/run")
                .hardLink("versions/1/run", "versions/2/run")
                .symlink("run", "lib/current/../latest/run");

        unpack(machine.cached(tar.tarGz()), "run");

        Path place = machine.install(DIRECTORY);
        assertEquals("#!/bin/sh\n", Files.readString(place.resolve("lib/current/run")));
        assertEquals("#!/bin/sh\n", Files.readString(place.resolve("run")));
        assertTrue(Files.isSameFile(place.resolve("versions/1/run"), place.resolve("versions/2/run")));
        assertTrue(Files.isSymbolicLink(place.resolve("dangling")));
    }

    @Test
    void aRepeatedFileReplacesTheEarlierOne() throws Exception {
        TarBuilder tar = new TarBuilder()
                .file("run", 0644, "old and longer".getBytes(UTF_8))
                .hardLink("kept", "run")
                .file("run", 0755, "new".getBytes(UTF_8))
                .directory("d", 0755)
                .directory("d", 0700)
                .symlink("link", "run")
                .symlink("link", "run");

        unpack(machine.cached(tar.tarGz()), "run");

        Path place = machine.install(DIRECTORY);
        assertEquals("new", Files.readString(place.resolve("run")));
        assertEquals("old and longer", Files.readString(place.resolve("kept")), "a link keeps what it linked to");
        assertEquals("rwx------", mode(place.resolve("d")));
    }

    @Test
    void longNamesAndLettersOfAllAlphabetsWork() throws Exception {
        String deep = "directory-with-a-long-name/".repeat(8) + "x".repeat(200);
        TarBuilder tar = new TarBuilder().program("run").file(deep, "deep").file("systemd\\x2dunit", "backslash");

        unpack(machine.cached(tar.tarGz()), "run");

        assertEquals("deep", Files.readString(machine.install(DIRECTORY).resolve(deep)));
        assertEquals("backslash", Files.readString(machine.install(DIRECTORY).resolve("systemd\\x2dunit")));
    }

    @Test
    void severalGzipMembersAreOneArchive() throws Exception {
        byte[] tar = new TarBuilder().program("run").file("a", "a".repeat(5000)).tar();
        byte[] first = TarBuilder.gzip(Arrays.copyOf(tar, 700));
        byte[] second = TarBuilder.gzip(Arrays.copyOfRange(tar, 700, tar.length));

        unpack(machine.cached(Bytes.concat(first, second)), "run");

        assertEquals(5000, Files.size(machine.install(DIRECTORY).resolve("a")));
    }

    @Test
    void whatIsInstalledIsNotUnpackedAgain() throws Exception {
        String key = machine.cached(ordinary().tarGz());
        unpack(key, "bin/greeter");
        Files.writeString(machine.install(DIRECTORY).resolve("share/text"), "touched");
        Files.delete(machine.layout().archive(key));

        unpack(key, "bin/greeter");

        assertEquals("touched", Files.readString(machine.install(DIRECTORY).resolve("share/text")));
    }

    @Test
    void theChecksumOfAnUndeclaredArchiveIsInItsMarker() throws Exception {
        byte[] archive = ordinary().tarGz();
        String key = "unverified-" + "e".repeat(64);
        Files.createDirectories(machine.layout().archives());
        Files.write(machine.layout().archive(key), archive);
        unpack(key, "bin/greeter");

        assertEquals(
                ImmutableList.of(new Installation(DIRECTORY, "1", key, Machine.sha256(archive))),
                machine.installations(ID));
    }

    @Test
    void leftoversOfAnInterruptedUnpackingAreRemovedFirst() throws Exception {
        Path left = machine.layout().staging(ID).resolve(DIRECTORY).resolve("bin");
        Files.createDirectories(left);
        Files.createSymbolicLink(left.resolve("greeter"), Path.of("/etc/passwd"));
        Files.write(machine.layout().staging(ID).resolve(DIRECTORY).resolve(InstallationMarker.FILE), new byte[0]);

        unpack(machine.cached(ordinary().tarGz()), "bin/greeter");

        assertOrdinary();
    }

    @Test
    void aMissingArchiveHasToBeDownloadedAgain() {
        ActuationFailure failure = failure("f".repeat(64), "bin/greeter");

        assertFalse(failure.fatal());
        assertContains(failure, "it has to be downloaded again");
    }

    @Test
    void aForeignDirectoryInTheInstallationsPlaceIsLeftAlone() throws Exception {
        Path foreign = Files.createDirectories(machine.install(DIRECTORY));
        Files.writeString(foreign.resolve("precious"), "x");

        ActuationFailure failure = failure(machine.cached(ordinary().tarGz()), "bin/greeter");

        assertFalse(failure.fatal());
        assertContains(failure, foreign + " is there and is not an installation");
        assertTrue(Files.exists(foreign.resolve("precious")));
    }

    @Test
    void anInstallationOfAnotherArchiveIsNotOverwritten() throws Exception {
        unpack(machine.cached(ordinary().tarGz()), "bin/greeter");

        ActuationFailure failure =
                failure(machine.cached(ordinary().file("more", "x").tarGz()), "bin/greeter");

        assertContains(failure, "from another archive");
        assertFalse(Files.exists(machine.install(DIRECTORY).resolve("more")));
    }

    @Test
    void anEntryPointThatIsNotThereIsFinalAndSaysWhatIs() throws Exception {
        String key = machine.cached(ordinary().program("sbin/other").tarGz());

        ActuationFailure failure = failure(key, "bin/greter");

        assertTrue(failure.fatal());
        assertContains(
                failure, "the entry point 'bin/greter' is not in the archive; executable are sbin/other, bin/greeter");
        assertFalse(Files.exists(machine.install(DIRECTORY)));
        assertFalse(Files.exists(machine.layout().staging(ID)));
    }

    @Test
    void anEntryPointHasToBeAnExecutableFile() throws Exception {
        String key = machine.cached(ordinary().symlink("dangling", "nowhere").tarGz());

        assertContains(failure(key, "share/text"), "the entry point 'share/text' is not executable");
        assertContains(failure(key, "bin"), "the entry point 'bin' is a directory");
        assertContains(failure(key, "dangling"), "the entry point 'dangling' is not in the archive");
        assertContains(failure(key, "../bin/greeter"), "is not a path inside the archive");
        unpack(key, "./greeter");
    }

    @Test
    void anArchiveWithoutAnythingExecutableSaysSo() throws Exception {
        byte[] zip = new ZipBuilder().plain("greeter", new byte[10]).zip();

        assertContains(
                failure(machine.cached(zip), "greeter"),
                "'greeter' is not executable; no file in the archive is executable");
    }

    @Test
    void anInterruptStopsItAndLeavesNothingVisible() throws Exception {
        String key =
                machine.cached(ordinary().file("big", 0644, new byte[8 << 20]).tarGz());

        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> unpack(key, "bin/greeter"));

        assertFalse(Thread.interrupted(), "whoever throws the exception clears the mark");
        assertEquals(ImmutableList.of(), machine.installations(ID));
        unpack(key, "bin/greeter");
        assertOrdinary();
    }

    private void unpack(String key, String entryPoint) throws ActuationFailure, InterruptedException {
        unpacker.unpack(ID, key, "1", DIRECTORY, entryPoint);
    }

    private ActuationFailure failure(String key, String entryPoint) {
        return assertThrows(ActuationFailure.class, () -> unpack(key, entryPoint));
    }

    private static void assertContains(ActuationFailure failure, String expected) {
        String message = String.valueOf(failure.getMessage());
        assertTrue(message.contains(expected), message);
    }

    private static String mode(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }
}
