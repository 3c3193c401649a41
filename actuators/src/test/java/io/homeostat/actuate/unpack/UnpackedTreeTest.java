package io.homeostat.actuate.unpack;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.Bytes;
import io.homeostat.observe.install.Installation;
import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.zip.ZipArchiveEntry;
import org.apache.commons.compress.archivers.zip.ZipArchiveOutputStream;
import org.apache.commons.compress.archivers.zip.ZipArchiveOutputStream.UnicodeExtraFieldPolicy;
import org.junit.jupiter.api.Test;

/** What becomes of the entries of an archive. */
final class UnpackedTreeTest extends UnpackTestBed {
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
    void aNameThatOlderProgramsAddToOneInTheirEncodingCounts() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipArchiveOutputStream zip = new ZipArchiveOutputStream(bytes)) {
            zip.setEncoding("Cp437");
            zip.setUseLanguageEncodingFlag(false);
            zip.setCreateUnicodeExtraFields(UnicodeExtraFieldPolicy.ALWAYS);
            ZipArchiveEntry entry = new ZipArchiveEntry("grüße");
            entry.setUnixMode(0100755);
            zip.putArchiveEntry(entry);
            zip.closeArchiveEntry();
        }

        unpack(machine.cached(bytes.toByteArray()), "grüße");

        assertTrue(Files.exists(machine.install(DIRECTORY).resolve("grüße")));
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
    void aLinkWhoseTargetHasSlashesTooManyIsInstalledWhole() throws Exception {
        TarBuilder tar = new TarBuilder()
                .program("bin/run")
                .symlink("trailing", "bin/")
                .symlink("double", "bin//run")
                .symlink("dot", "./bin/./run");

        unpack(machine.cached(tar.tarGz()), "double");

        Path place = machine.install(DIRECTORY);
        assertEquals("", machine.installations(ID).getFirst().damage());
        assertTrue(Files.isSameFile(place.resolve("bin/run"), place.resolve("trailing/run")));
        assertTrue(Files.isSameFile(place.resolve("bin/run"), place.resolve("dot")));
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
    void whatGitArchivesIsUnpacked() throws Exception {
        TarBuilder tar = new TarBuilder().global("comment", "c".repeat(40)).program("run");

        unpack(machine.cached(tar.tarGz()), "run");

        assertTrue(Files.isExecutable(machine.install(DIRECTORY).resolve("run")));
    }

    @Test
    void severalGzipMembersAreOneArchive() throws Exception {
        byte[] tar = new TarBuilder().program("run").file("a", "a".repeat(5000)).tar();
        byte[] first = TarBuilder.gzip(Arrays.copyOf(tar, 700));
        byte[] second = TarBuilder.gzip(Arrays.copyOfRange(tar, 700, tar.length));

        unpack(machine.cached(Bytes.concat(first, second)), "run");

        assertEquals(5000, Files.size(machine.install(DIRECTORY).resolve("a")));
    }
}
