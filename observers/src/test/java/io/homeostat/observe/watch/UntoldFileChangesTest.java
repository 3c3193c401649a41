package io.homeostat.observe.watch;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Changes for which the kernel has no event: they are looked for, so that watching never ends unnoticed. */
@Execution(ExecutionMode.CONCURRENT)
class UntoldFileChangesTest {
    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private static final Duration RETRY = Duration.ofMillis(200);

    @TempDir
    Path temp;

    private final AtomicInteger calls = new AtomicInteger();
    private @Nullable FileChanges changes;

    @AfterEach
    void stop() {
        if (changes != null) {
            changes.close();
        }
    }

    @Test
    void aLinkedDirectoryThatAnotherTakesThePlaceOfIsWatched() throws IOException {
        Path target = Files.createDirectory(temp.resolve("target"));
        Path root = Files.createDirectory(temp.resolve("desired.d"));
        Files.createSymbolicLink(root.resolve("link"), target);
        watch(root);
        Files.move(target, temp.resolve("old"));
        Files.createDirectory(target);
        awaitCalls();
        Files.createFile(target.resolve("a.yaml"));
        awaitCalls();
    }

    @Test
    void whatALinkAboveTheDirectoryLeadsToMayBecomeAnother() throws IOException {
        Path target = temp.resolve("target");
        Files.createDirectories(target.resolve("desired.d"));
        Path link = Files.createSymbolicLink(temp.resolve("link"), target);
        watch(link.resolve("desired.d"));
        Files.move(target, temp.resolve("old"));
        Files.createDirectories(target.resolve("desired.d"));
        awaitCalls();
        Files.createFile(target.resolve("desired.d/a.yaml"));
        awaitCalls();
    }

    @Test
    void whatALinkLeadsToMayAppearLater() throws IOException {
        Path target = temp.resolve("target");
        Path root = Files.createDirectory(temp.resolve("desired.d"));
        Files.createSymbolicLink(root.resolve("link"), target);
        watch(root);
        Files.createDirectory(target);
        awaitCalls();
        Files.createFile(target.resolve("a.yaml"));
        awaitCalls();
    }

    @Test
    void aLinkedFileThatIsWrittenIsTold() throws IOException {
        Path target = Files.createFile(temp.resolve("target.yaml"));
        Path root = Files.createDirectory(temp.resolve("desired.d"));
        Files.createSymbolicLink(root.resolve("a.yaml"), target);
        watch(root);
        Files.writeString(target, "kind: Process");
        awaitCalls();
        Files.delete(target);
        awaitCalls();
    }

    @Test
    void aFileSystemThatIsMountedOnTheDirectoryIsWatched() throws Exception {
        Path root = Files.createDirectory(temp.resolve("desired.d"));
        watch(root);
        assumeTrue(run("mount", "-t", "tmpfs", "none", root.toString()) == 0, "needs permission to mount");
        try {
            awaitCalls();
            Files.createFile(root.resolve("a.yaml"));
            awaitCalls();
        } finally {
            assertEquals(0, run("umount", "-l", root.toString()));
        }
        awaitCalls();
    }

    @Test
    void directoriesWithoutEndAreWatchedToTheirDepthAndTheRestIsTold() throws IOException {
        Path root = Files.createDirectory(temp.resolve("desired.d"));
        Path deep = root;
        for (int i = 0; i < 500; i++) {
            deep = deep.resolve("d");
        }
        Files.createDirectories(deep);
        try (WatchedTree tree = new WatchedTree(ImmutableSet.of(root))) {
            assertEquals(
                    ImmutableList.of("what is more than 64 directories deep"),
                    tree.gaps().values().asList());
            assertTrue(tree.isCurrent());
        }
        watch(root);
        Files.createFile(root.resolve("d/d/a.yaml"));
        awaitCalls();
    }

    @Test
    void whenTheKernelWatchesNothingMoreItIsAskedAgainAndAgain() throws IOException {
        Path root = Files.createDirectory(temp.resolve("desired.d"));
        AtomicInteger refusals = new AtomicInteger(3);
        changes = new FileChanges(ImmutableSet.of(root), calls::incrementAndGet, RETRY, paths -> {
            if (refusals.getAndDecrement() > 0) {
                throw new IOException("User limit of inotify instances reached or too many open files");
            }
            return new WatchedTree(paths);
        });
        awaitCalls();
        Files.createFile(root.resolve("a.yaml"));
        awaitCalls();
    }

    @Test
    void aFailureThatNobodyThoughtOfIsNotTheEndOfWatching() throws IOException {
        Path root = Files.createDirectory(temp.resolve("desired.d"));
        AtomicInteger trees = new AtomicInteger();
        changes = new FileChanges(ImmutableSet.of(root), calls::incrementAndGet, RETRY, paths -> {
            if (trees.incrementAndGet() == 2) {
                throw new IllegalStateException("on purpose");
            }
            return new WatchedTree(paths);
        });
        Path made = Files.createDirectory(root.resolve("made"));
        awaitCalls();
        Files.createFile(made.resolve("a.yaml"));
        awaitCalls();
        assertTrue(trees.get() >= 3, trees::toString);
    }

    @Test
    void whatChangesNothingIsNotTold() throws IOException {
        Path root = Files.createDirectory(temp.resolve("desired.d"));
        Files.createFile(root.resolve("a.yaml"));
        Files.createSymbolicLink(root.resolve("b.yaml"), root.resolve("a.yaml"));
        Files.createSymbolicLink(root.resolve("c.yaml"), Path.of("gone"));
        watch(root);
        await().during(RETRY.multipliedBy(5)).atMost(DEADLINE).until(() -> calls.get() == 0);
    }

    private void watch(Path path) {
        changes = new FileChanges(ImmutableSet.of(path), calls::incrementAndGet, RETRY, WatchedTree::new);
    }

    /** Waits until all that has changed so far has been told. */
    private void awaitCalls() {
        await().atMost(DEADLINE).until(() -> calls.get() > 0);
        AtomicInteger last = new AtomicInteger(-1);
        await().atMost(DEADLINE)
                .pollInterval(RETRY.multipliedBy(2))
                .until(() -> last.getAndSet(calls.get()) == calls.get());
        calls.set(0);
    }

    private static int run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        assertTrue(process.waitFor(30, TimeUnit.SECONDS));
        return process.exitValue();
    }
}
