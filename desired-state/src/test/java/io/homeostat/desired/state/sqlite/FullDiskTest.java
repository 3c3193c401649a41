package io.homeostat.desired.state.sqlite;

import static io.homeostat.desired.state.sqlite.Samples.AGENT;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file system that is really full; only where the tests may mount one. */
final class FullDiskTest {
    @TempDir
    Path directory;

    private Layout layout;
    private Path ballast;
    private boolean mounted;

    @BeforeEach
    void mount() throws Exception {
        mounted = run("mount", "-t", "tmpfs", "-o", "size=512k", "none", directory.toString());
        assumeTrue(mounted, "may not mount a file system");
        layout = Samples.layout(directory);
        ballast = directory.resolve("ballast");
    }

    @AfterEach
    void unmount() throws Exception {
        if (mounted) {
            // Lazily: what a test beside this one has just started may have our descriptors for a moment.
            assertTrue(run("umount", "-l", directory.toString()));
        }
    }

    @Test
    void whatWasAcknowledgedSurvivesAFullDiskAndNothingIsSetAside() throws IOException {
        Files.write(ballast, new byte[100_000]);
        int acknowledged = 0;
        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            StoreException failure = null;
            while (failure == null) {
                try {
                    store.commit(Samples.events(AGENT, "x".repeat(10_000)));
                    acknowledged++;
                } catch (StoreException e) {
                    failure = e;
                }
            }
            assertTrue(failure.getMessage().contains(layout.database().toString()), failure::getMessage);
            assertTrue(failure.getMessage().contains("space"), failure::getMessage);
            assertEquals(acknowledged, store.events(0, 1000).size());

            deleteBallast();
            store.commit(Samples.events(AGENT, "goes on"));
            acknowledged++;
        }
        StateStores.Opened again = StateStores.openForWriting(layout, Samples.CLOCK);
        try (StateStore store = again.store()) {
            assertTrue(again.setAside().isEmpty());
            assertEquals(acknowledged, store.events(0, 1000).size());
        }
    }

    @Test
    void whateverTheSpaceRunsOutForWhileADatabaseIsCreatedNoHalfOfItIsLeft() throws IOException {
        long empty = free();
        int failures = 0;
        for (int ballastSize = 516_000; ballastSize > 300_000; ballastSize -= 4_096) {
            MoreFiles.deleteDirectoryContents(directory, RecursiveDeleteOption.ALLOW_INSECURE);
            awaitFree(empty);
            Files.write(ballast, new byte[ballastSize]);
            try {
                StateStores.openForWriting(layout, Samples.CLOCK).store().close();
            } catch (StoreException e) {
                failures++;
                assertTrue(e.getMessage().contains("space"), e::getMessage);
            }
            deleteBallast();
            StateStores.Opened next = StateStores.openForWriting(layout, Samples.CLOCK);
            next.store().close();
            assertTrue(next.setAside().isEmpty(), next::toString);
        }
        assertNotEquals(0, failures, "there was always space");
    }

    @Test
    void thatADiskIsFullIsFoundByTryingAndThatItIsNotAnyMoreToo() throws IOException {
        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            store.checkWritable(Instant.EPOCH);
            fill();
            // The log's file may have room for some more.
            StoreException failure = null;
            for (int i = 1; i < 200 && failure == null; i++) {
                try {
                    store.checkWritable(Instant.ofEpochSecond(i));
                } catch (StoreException e) {
                    failure = e;
                }
            }
            assertNotNull(failure, "it could be written all the time");
            assertTrue(failure.getMessage().contains("space"), failure::getMessage);
            deleteBallast();
            store.checkWritable(Instant.EPOCH);
        }
    }

    private void deleteBallast() throws IOException {
        long size = Files.size(ballast);
        Files.delete(ballast);
        awaitFree(size);
    }

    /**
     * A process that a test beside this one is starting has all of our descriptors until it becomes another program, and what is
     * deleted takes its room until then.
     */
    private void awaitFree(long bytes) {
        await().pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .atMost(Duration.ofMinutes(2))
                .until(() -> free() >= bytes);
    }

    private long free() throws IOException {
        return Files.getFileStore(directory).getUnallocatedSpace();
    }

    private void fill() throws IOException {
        try (OutputStream out = Files.newOutputStream(ballast)) {
            byte[] page = new byte[4096];
            while (true) {
                out.write(page);
            }
        } catch (IOException e) {
            assertTrue(String.valueOf(e.getMessage()).contains("space"), e::toString);
        }
    }

    @Test
    void aReadOnlyFileSystemIsAnErrorForWritersAndNoneForReaders() throws Exception {
        try (StateStore store =
                StateStores.openForWriting(layout, Samples.CLOCK).store()) {
            Samples.apply(store, "/a", false, Samples.plugin("ops-agent", "A1"));
        }
        // Not while a process that a test beside this one is starting has those of the store.
        await().atMost(Duration.ofMinutes(2)).until(() -> run("mount", "-o", "remount,ro", directory.toString()));

        StoreException failure =
                assertThrows(StoreException.class, () -> StateStores.openForWriting(layout, Samples.CLOCK));

        assertTrue(failure.getMessage().contains("Read-only file system"), failure::getMessage);
        try (StateReader reader = StateStores.openForReading(layout).orElseThrow()) {
            assertEquals(1, reader.declarations().size());
        }
        assertTrue(run("mount", "-o", "remount,rw", directory.toString()));
    }

    private static boolean run(String... command) throws IOException, InterruptedException {
        return new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start()
                        .waitFor()
                == 0;
    }
}
