package io.homeostat.observe.install;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.install.FileList.InstalledFile;
import io.homeostat.observe.install.FileList.InstalledFile.Content;
import io.homeostat.observe.install.FileList.InstalledFile.Directory;
import io.homeostat.observe.install.FileList.InstalledFile.Link;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An installation of bin/run, etc/conf and a link to it, on the real file system. */
class InstallationCheckTest {
    private static final WorkloadId ID = WorkloadId.process("web");

    @TempDir
    Path root;

    /** However long it takes on a busy machine, it looks each time. */
    private final InstallationCheck check = new InstallationCheck(() -> 0);

    private Path run;
    private Path conf;
    private Path link;
    private InstallationMarker marker;

    @BeforeEach
    void install() throws IOException {
        run = Files.writeString(Files.createDirectories(root.resolve("bin")).resolve("run"), "#!/bin/sh\n");
        conf = Files.writeString(Files.createDirectories(root.resolve("etc")).resolve("conf"), "port=1\n");
        link = Files.createSymbolicLink(root.resolve("conf"), Path.of("etc/conf"));
        mode(run, "rwxr-xr-x");
        mode(conf, "rw-r--r--");
        mode(root.resolve("bin"), "rwx------");
        record("0".repeat(64));
    }

    private void record(String key) throws IOException {
        try (FileList.Writer list = new FileList.Writer(Files.newOutputStream(root.resolve(FileList.FILE)))) {
            list.add(new Directory(
                    "bin", InstalledFile.look(root.resolve("bin")).stat().mode()));
            list.add(content("bin/run"));
            list.add(new Link("conf", "etc/conf"));
            list.add(new Directory("etc", 0755));
            list.add(content("etc/conf"));
            marker = new InstallationMarker(ID, new Installation("web_1", "1", key, key), list.finish());
        }
    }

    private Content content(String path) throws IOException {
        Path file = root.resolve(path);
        String sha256 = Hashing.sha256().hashBytes(Files.readAllBytes(file)).toString();
        return new Content(path, InstalledFile.look(file).stat(), sha256);
    }

    private static void mode(Path path, String rights) throws IOException {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(rights));
    }

    private String damage() throws IOException {
        return check.damage(root, marker).orElse("");
    }

    private void assertDamaged(Path file) throws IOException {
        String words = damage();
        assertTrue(words.startsWith(root.relativize(file) + " "), words);
    }

    /** Also where the file's times are put back, as whoever hides a change would. */
    private static void write(Path file, String text) throws IOException {
        FileTime before = Files.getLastModifiedTime(file);
        Files.writeString(file, text);
        Files.setLastModifiedTime(file, before);
    }

    @Test
    void whatWasUnpackedIsWhole() throws IOException {
        assertEquals("", damage());
    }

    @Test
    void aChangedFileIsDamageAlsoWithItsOldSizeAndTime() throws IOException {
        write(conf, "port=2\n");
        assertEquals("etc/conf has other content", damage());
    }

    @Test
    void aTruncatedFileIsDamage() throws IOException {
        write(run, "");
        assertEquals("bin/run has 0 bytes instead of 10", damage());
    }

    @Test
    void aFileThatGrewIsDamage() throws IOException {
        Files.writeString(conf, "more", StandardOpenOption.APPEND);
        String words = damage();
        assertTrue(words.matches("etc/conf .*\\b11\\b.*\\b7"), words);
    }

    @Test
    void aDeletedFileIsDamage() throws IOException {
        Files.delete(conf);
        assertEquals("etc/conf is gone", damage());
    }

    @Test
    void aProgramThatMayNotBeExecutedAnyMoreIsDamage() throws IOException {
        mode(run, "rw-r--r--");
        assertEquals("bin/run has mode 644 instead of 755", damage());
    }

    @Test
    void aFileThatOthersMayWriteIsDamage() throws IOException {
        mode(conf, "rw-rw-rw-");
        assertEquals("etc/conf has mode 666 instead of 644", damage());
    }

    @Test
    void anotherFileInItsPlaceIsDamageUnlessItIsTheSameAgain() throws IOException {
        Path copy = root.resolve("copy");
        Files.writeString(copy, "port=1\n");
        mode(copy, "rw-r--r--");
        Files.move(copy, conf, StandardCopyOption.REPLACE_EXISTING);
        assertEquals("", damage());

        Files.writeString(copy, "port=9\n");
        mode(copy, "rw-r--r--");
        Files.move(copy, conf, StandardCopyOption.REPLACE_EXISTING);
        assertDamaged(conf);
    }

    @Test
    void aLinkOrADirectoryInTheFilesPlaceIsDamage() throws IOException {
        Files.delete(conf);
        Files.createSymbolicLink(conf, Files.writeString(root.resolve("same"), "port=1\n"));
        String words = "etc/conf is no file any more";
        assertEquals(words, damage());
        Files.delete(conf);
        Files.createDirectory(conf);
        assertEquals(words, damage());
    }

    @Test
    void aFifoInTheFilesPlaceIsDamageAndNotWaitedFor() throws Exception {
        Files.delete(conf);
        assertEquals(
                0,
                new ProcessBuilder("mkfifo", conf.toString())
                        .inheritIO()
                        .start()
                        .waitFor());
        assertTimeoutPreemptively(Duration.ofSeconds(30), () -> assertDamaged(conf));
    }

    @Test
    void aLinkInADirectorysPlaceIsDamageAndNotFollowed() throws IOException {
        Path elsewhere = root.resolve("elsewhere");
        Files.move(root.resolve("etc"), elsewhere);
        Files.createSymbolicLink(root.resolve("etc"), elsewhere);
        assertEquals("etc is no directory any more", damage());
    }

    @Test
    void aDirectoryThatItsOwnerCanNotEnterIsDamageAndOneThatOthersMayEnterIsNot() throws IOException {
        mode(root.resolve("bin"), "rwx--x--x");
        assertEquals("", damage());
        mode(root.resolve("bin"), "rw-------");
        assertEquals("bin has mode 600 instead of 700", damage());
        mode(root.resolve("bin"), "rwx------");
    }

    @Test
    void aLinkThatPointsElsewhereIsDamage() throws IOException {
        Files.delete(link);
        Files.createSymbolicLink(link, Path.of("bin/run"));
        assertEquals("conf points elsewhere", damage());
    }

    @Test
    void aLinkIsStoredWithoutTheSlashesThatItsTargetHasTooMany() throws IOException {
        try (FileList.Writer list = new FileList.Writer(Files.newOutputStream(root.resolve(FileList.FILE)))) {
            list.add(new Link("conf", "etc//conf/"));
            marker = new InstallationMarker(ID, marker.installation(), list.finish());
        }

        assertEquals("", damage());
    }

    @Test
    void whatTheWorkloadAddsIsItsOwn() throws IOException {
        Files.createDirectories(root.resolve("bin/__pycache__"));
        Files.writeString(root.resolve("run.pid"), "1");
        assertEquals("", damage());
    }

    @Test
    void aFileThatWasTouchedIsReadOnceAndWhole() throws IOException {
        Files.setLastModifiedTime(conf, FileTime.from(Instant.parse("2030-01-01T00:00:00Z")));
        assertEquals("", damage());
        // Not read again: an unreadable file would show it to anybody but root, other content to everybody.
        assertEquals("", damage());
        write(conf, "port=7\n");
        assertDamaged(conf);
    }

    @Test
    void aListThatIsGoneOrChangedIsDamageItself() throws IOException {
        Path list = root.resolve(FileList.FILE);
        String text = Files.readString(list);
        Files.writeString(list, text.replace("\"f\",\"etc/conf\"", "\"f\",\"etc/conf2\""));
        assertEquals("etc/conf2 is gone", damage());
        Files.writeString(list, text + " ");
        assertEquals(FileList.FILE + " was changed", damage());
        Files.writeString(list, text.substring(0, text.length() - 4));
        assertEquals(FileList.FILE + " was changed", damage());
        Files.write(list, "[[\"f\",\"\u00ff\"".getBytes(StandardCharsets.ISO_8859_1));
        assertEquals(FileList.FILE + " was changed", damage());
        Files.delete(list);
        assertEquals(FileList.FILE + " is gone", damage());
    }

    @Test
    void aTreeThatTakesLongIsNotLookedAtAgainAtOnce() throws IOException {
        AtomicLong now = new AtomicLong();
        InstallationCheck slow = new InstallationCheck(new Ticker() {
            @Override
            public long read() {
                return now.getAndAdd(Duration.ofSeconds(1).toNanos());
            }
        });
        assertEquals(Optional.empty(), slow.damage(root, marker));
        Files.delete(conf);
        assertEquals(Optional.empty(), slow.damage(root, marker));

        now.addAndGet(Duration.ofSeconds(20).toNanos());

        assertEquals(Optional.of("etc/conf is gone"), slow.damage(root, marker));
        assertEquals(Optional.of("etc/conf is gone"), slow.damage(root, marker), "damage is not remembered");
    }

    @Test
    void anInstallationOfAnEarlierVersionHasNoListAndIsBelieved() throws IOException {
        Files.delete(root.resolve(FileList.FILE));
        assertEquals(
                "",
                check.damage(root, new InstallationMarker(ID, marker.installation(), ""))
                        .orElse(""));
    }

    @Test
    void aNameOfTheArchiveDoesNothingToATerminal() throws IOException {
        String name = "bad\u001b[31m\n";
        Files.writeString(root.resolve(name), "x");
        try (FileList.Writer list = new FileList.Writer(Files.newOutputStream(root.resolve(FileList.FILE)))) {
            list.add(content(name));
            marker = new InstallationMarker(ID, marker.installation(), list.finish());
        }
        assertEquals("", damage());
        Files.delete(root.resolve(name));
        assertEquals("bad?[31m? is gone", damage());
    }
}
