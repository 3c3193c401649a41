package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.layout.Layout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CacheCleanerTest {
    private static final String WANTED = "a".repeat(64);
    private static final String UNWANTED = "unverified-" + "b".repeat(64);

    @TempDir
    Path directory;

    private Layout layout;

    @BeforeEach
    void fillTheCache() throws IOException {
        layout = new Layout(directory, directory, "i");
        for (Path place : new Path[] {layout.archives(), layout.downloads()}) {
            Files.createDirectories(place);
            for (String name :
                    new String[] {WANTED, UNWANTED, UNWANTED + ".sha256", UNWANTED + ".origin", "notes.txt"}) {
                Files.writeString(place.resolve(name), name);
            }
        }
    }

    @Test
    void onlyWhatSomebodyNeedsAndWhatIsNotOursStays() throws Exception {
        new CacheCleaner(layout).keepOnly(Set.of(WANTED));

        for (Path place : new Path[] {layout.archives(), layout.downloads()}) {
            assertTrue(Files.exists(place.resolve(WANTED)));
            assertTrue(Files.exists(place.resolve("notes.txt")), "a foreign file");
            assertFalse(Files.exists(place.resolve(UNWANTED)));
            assertFalse(Files.exists(place.resolve(UNWANTED + ".sha256")));
            assertFalse(Files.exists(place.resolve(UNWANTED + ".origin")));
        }
        new CacheCleaner(layout).keepOnly(Set.of(WANTED));
    }

    @Test
    void aSymlinkIsRemovedAndNotWhatItPointsTo() throws Exception {
        Path elsewhere = Files.writeString(directory.resolve("elsewhere"), "kept");
        Path link = layout.archive("c".repeat(64));
        Files.createSymbolicLink(link, elsewhere);

        new CacheCleaner(layout).keepOnly(Set.of());

        assertFalse(Files.exists(link, LinkOption.NOFOLLOW_LINKS));
        assertEquals("kept", Files.readString(elsewhere));
    }

    @Test
    void noCacheIsAnEmptyOne() throws Exception {
        new CacheCleaner(new Layout(directory.resolve("none"), directory, "i")).keepOnly(Set.of());
    }
}
