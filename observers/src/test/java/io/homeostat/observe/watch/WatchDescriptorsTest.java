package io.homeostat.observe.watch;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableSet;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.Isolated;

/** What watching takes of the kernel it gives back. */
@Isolated("Counts all of this JVM's descriptors.")
@Execution(ExecutionMode.SAME_THREAD)
class WatchDescriptorsTest {
    private static final Duration DEADLINE = Duration.ofSeconds(30);

    /** Longer than a report waits for quiet. */
    private static final Duration NOTHING_COMES = Duration.ofMillis(250);

    @TempDir
    Path root;

    private final AtomicInteger calls = new AtomicInteger();

    @Test
    void nothingIsToldAfterItIsClosed() throws IOException {
        FileChanges changes = watching();
        changes.close();
        changes.close();
        Files.createFile(root.resolve("a.yaml"));
        await().during(NOTHING_COMES).atMost(DEADLINE).until(() -> calls.get() == 0);
        assertEquals(0, watches());
    }

    @Test
    void exchangingDirectoriesKeepsNoDescriptor() throws IOException {
        try (FileChanges _ = watching()) {
            createAndAwait("warm");
            long before = watches();
            assertTrue(before > 0);
            for (int i = 0; i < 10; i++) {
                createAndAwait("d" + i);
            }
            // What is told may still be followed by a look at what it was.
            await().atMost(DEADLINE).until(() -> watches() == before);
        }
    }

    private FileChanges watching() {
        return new FileChanges(ImmutableSet.of(root), calls::incrementAndGet);
    }

    private void createAndAwait(String directory) throws IOException {
        int before = calls.get();
        Files.createDirectory(root.resolve(directory));
        await().atMost(DEADLINE).until(() -> calls.get() > before);
    }

    private static long watches() throws IOException {
        long found = 0;
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            for (Path each : all.toList()) {
                try {
                    found += Files.readSymbolicLink(each).toString().contains("inotify") ? 1 : 0;
                } catch (NoSuchFileException closed) {
                    // Another thread of this program has closed it since.
                }
            }
        }
        return found;
    }
}
