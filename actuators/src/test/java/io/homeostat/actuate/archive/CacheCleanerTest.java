package io.homeostat.actuate.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.QuickDisk;
import io.homeostat.actuate.archive.CacheCleaner.CacheBounds;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CacheCleanerTest {
    private static final String WANTED = "a".repeat(64);
    private static final String UNWANTED = "unverified-" + "b".repeat(64);

    private static final Instant NOW = Instant.parse("2100-01-01T00:00:00Z");

    @TempDir
    Path directory;

    private Layout layout;

    @BeforeEach
    void fillTheCache() throws IOException {
        layout = new Layout(directory, directory, "i");
        for (Path place : new Path[] {layout.archives(), layout.downloads()}) {
            Files.createDirectories(place);
            for (String name :
                    new String[] {WANTED, UNWANTED, UNWANTED + ".sha256", UNWANTED + ".origin.new", "notes.txt"}) {
                Files.writeString(place.resolve(name), name);
            }
        }
    }

    @Test
    void onlyWhatSomebodyNeedsAndWhatIsNotOursStays() throws Exception {
        clean(Set.of(WANTED), CacheBounds.NOTHING);

        for (Path place : new Path[] {layout.archives(), layout.downloads()}) {
            assertTrue(Files.exists(place.resolve(WANTED)));
            assertTrue(Files.exists(place.resolve("notes.txt")), "a foreign file");
            assertFalse(Files.exists(place.resolve(UNWANTED)));
            assertFalse(Files.exists(place.resolve(UNWANTED + ".sha256")));
            assertFalse(Files.exists(place.resolve(UNWANTED + ".origin.new")));
        }
        clean(Set.of(WANTED), CacheBounds.NOTHING);
    }

    @Test
    void aSymlinkIsRemovedAndNotWhatItPointsTo() throws Exception {
        Path elsewhere = Files.writeString(directory.resolve("elsewhere"), "kept");
        Path link = layout.archive("c".repeat(64));
        Files.createSymbolicLink(link, elsewhere);

        clean(Set.of(), CacheBounds.NOTHING);

        assertFalse(Files.exists(link, LinkOption.NOFOLLOW_LINKS));
        assertEquals("kept", Files.readString(elsewhere));
    }

    @Test
    void whatWasBeingUnpackedWhenSomebodyWasKilledIsRemovedBeforeAnythingBegins() throws Exception {
        Path tree = layout.downloads().resolve(WANTED + ".1.tree");
        Files.writeString(Files.createDirectories(tree.resolve("bin")).resolve("run"), "half");
        Path ofNobody = Files.createDirectories(layout.downloads().resolve("notes.1.tree"));
        CacheCleaner cleaner = new CacheCleaner(layout);
        cleaner.clean(Set.of(), CacheBounds.NOTHING, NOW);
        assertTrue(Files.exists(tree), "it may be under way");

        cleaner.collectLeftovers();

        assertFalse(Files.exists(tree));
        assertTrue(Files.exists(ofNobody));
    }

    @Test
    void whatNobodyNeedsIsKeptUntilItIsTooOld() throws Exception {
        Path old = archive('1', 10, Duration.ofHours(25));
        Path recent = archive('2', 10, Duration.ofHours(23));

        clean(Set.of(), new CacheBounds(1000, Duration.ofHours(24)));

        assertFalse(Files.exists(old));
        assertTrue(Files.exists(recent));
    }

    @Test
    void ofWhatIsTooMuchThatGoesWhichNobodyHasNeededForLongest() throws Exception {
        clean(Set.of(), CacheBounds.NOTHING);
        Path first = archive('1', 400, Duration.ofHours(3));
        Path second = archive('2', 400, Duration.ofHours(2));
        Path third = archive('3', 400, Duration.ofHours(1));

        clean(Set.of(), new CacheBounds(1000, Duration.ofDays(1)));

        assertFalse(Files.exists(first));
        assertTrue(Files.exists(second));
        assertTrue(Files.exists(third));
    }

    @Test
    void whatIsNeededStaysHoweverOldAndLargeItIsAndItsAgeBeginsWhenItNoLongerIs() throws Exception {
        Path needed = archive('1', 4000, Duration.ofDays(400));
        CacheBounds bounds = new CacheBounds(1000, Duration.ofHours(24));

        clean(Set.of("1".repeat(64)), bounds);
        assertTrue(Files.exists(needed));
        assertEquals(NOW, Files.getLastModifiedTime(needed).toInstant());

        clean(Set.of(), new CacheBounds(10_000, Duration.ofHours(24)));
        assertTrue(Files.exists(needed), "needed a moment ago");
        clean(Set.of(), bounds);
        assertFalse(Files.exists(needed), "too much");
    }

    @Test
    void aBegunDownloadThatNobodyWaitsForGoesAtOnce() throws Exception {
        Path part = layout.downloads().resolve(UNWANTED);
        assertTrue(Files.exists(part));

        clean(Set.of(WANTED), new CacheBounds(Long.MAX_VALUE >> 1, Duration.ofDays(1)));

        assertFalse(Files.exists(part));
        assertTrue(Files.exists(layout.downloads().resolve(WANTED)));
    }

    @Test
    void whereTheDiskHasNoRoomLeftNothingIsKeptThatNobodyNeeds() throws Exception {
        Path unneeded = archive('1', 10, Duration.ofMinutes(1));

        clean(Set.of(WANTED), new CacheBounds(Long.MAX_VALUE, Duration.ofDays(1)));

        assertFalse(Files.exists(unneeded));
        assertTrue(Files.exists(layout.archive(WANTED)));
    }

    @Test
    void oneFileThatCanNotBeRemovedKeepsNoOtherFromBeing() throws Exception {
        Path stuck = layout.archive("3".repeat(64));
        Files.writeString(stuck, "x");
        Path other = layout.archive("4".repeat(64));
        Files.writeString(other, "x");
        QuickDisk disk = new QuickDisk() {
            @Override
            public void delete(Path path) throws IOException {
                if (path.equals(stuck)) {
                    throw new AccessDeniedException(path.toString());
                }
                super.delete(path);
            }
        };

        ActuationFailure failure = assertThrows(
                ActuationFailure.class, () -> new CacheCleaner(layout, disk).clean(Set.of(), CacheBounds.NOTHING, NOW));

        assertEquals("cleaning the cache failed for 1 file: " + stuck + ": permission denied", failure.getMessage());
        assertTrue(Files.exists(stuck));
        assertFalse(Files.exists(other));
        assertFalse(Files.exists(layout.archive(WANTED)));
    }

    private void clean(Set<String> needed, CacheBounds bounds) throws ActuationFailure {
        new CacheCleaner(layout).clean(needed, bounds, NOW);
    }

    private Path archive(char digit, int bytes, Duration age) throws IOException {
        Path file = layout.archive(String.valueOf(digit).repeat(64));
        Files.write(file, new byte[bytes]);
        Files.setLastModifiedTime(file, FileTime.from(NOW.minus(age)));
        return file;
    }

    @Test
    void noCacheIsAnEmptyOne() throws Exception {
        new CacheCleaner(new Layout(directory.resolve("none"), directory, "i"))
                .clean(Set.of(), CacheBounds.NOTHING, NOW);
    }
}
