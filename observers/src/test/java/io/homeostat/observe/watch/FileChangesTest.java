package io.homeostat.observe.watch;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableSet;
import com.google.common.util.concurrent.Uninterruptibles;
import io.homeostat.observe.process.Libc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Most of its time it waits for quiet, so its tests run beside each other. */
@Execution(ExecutionMode.CONCURRENT)
class FileChangesTest {
    private static final Duration DEADLINE = Duration.ofSeconds(30);

    /** Longer than a report waits for quiet. */
    private static final Duration NOTHING_COMES = Duration.ofMillis(250);

    @TempDir
    Path temp;

    private Path root;
    private final AtomicInteger calls = new AtomicInteger();
    private FileChanges changes;

    @BeforeEach
    void watchADirectory() throws IOException {
        root = Files.createDirectories(temp.resolve("etc/homeostat/desired.d"));
        changes = watching(root);
    }

    @AfterEach
    void stop() {
        changes.close();
    }

    @Test
    void tellsOfANewFileOfItsContentAndOfItsEnd() throws IOException {
        Path file = root.resolve("a.yaml");
        Files.createFile(file);
        awaitCall();
        Files.writeString(file, "kind: Process");
        awaitCall();
        Files.delete(file);
        awaitCall();
    }

    @Test
    void waitsForNoQuietWhenACompleteFileHasArrived() throws IOException {
        Path file = Files.writeString(temp.resolve("fresh"), "kind: Plugin");
        assumeTrue(Libc.hasNoWriter(file.toString()), "this file system grants no leases");
        changes.close();
        Duration never = Duration.ofDays(1);
        changes = new FileChanges(
                ImmutableSet.of(root),
                calls::incrementAndGet,
                never,
                WatchedTree::new,
                new FileChanges.Debounce(never, never, Duration.ZERO));

        Files.move(file, root.resolve("a.yaml"));
        awaitCall();
    }

    @Test
    void tellsOfAFileThatReplacesAnother() throws IOException {
        Path fresh = Files.writeString(temp.resolve("fresh"), "kind: Plugin");
        Files.createFile(root.resolve("a.yaml"));
        awaitCall();
        Files.move(fresh, root.resolve("a.yaml"), StandardCopyOption.ATOMIC_MOVE);
        awaitCall();
    }

    @Test
    void tellsOfFilesInDirectoriesThatAppearLater() throws IOException {
        Path deep = Files.createDirectories(root.resolve("team/sre/linux"));
        awaitCall();
        Files.writeString(deep.resolve("a.yaml"), "kind: Process");
        awaitCall();
    }

    @Test
    void tellsOfFilesInADirectoryThatWasMoved() throws IOException {
        Path before = Files.createDirectories(root.resolve("before/deep"));
        awaitCall();
        Files.move(before.getParent(), root.resolve("after"));
        awaitCall();
        Path made = Files.createDirectory(root.resolve("after/deep/more"));
        awaitCall();
        Files.writeString(made.resolve("a.yaml"), "kind: Process");
        awaitCall();
    }

    @Test
    void waitsForADirectoryThatDoesNotExistYet() throws IOException {
        changes.close();
        Path later = temp.resolve("var/lib/homeostat/desired.d");
        changes = watching(later);

        Files.createDirectories(later);
        awaitCall();
        Files.writeString(later.resolve("a.yaml"), "kind: Process");
        awaitCall();
    }

    @Test
    void tellsOfADirectoryThatWasDeletedAndMadeAgain() throws IOException {
        Files.delete(root);
        awaitCall();
        Files.delete(root.getParent());
        awaitCall();
        Files.createDirectories(root);
        awaitCall();
        Files.writeString(root.resolve("a.yaml"), "kind: Process");
        awaitCall();
    }

    @Test
    void tellsOfADirectoryThatAnotherTakesThePlaceOf() throws IOException {
        Path other = Files.createDirectories(temp.resolve("other/desired.d"));
        Files.move(root.getParent(), temp.resolve("etc/old"));
        awaitCall();
        Files.move(other.getParent(), root.getParent());
        awaitCall();
        Files.writeString(root.resolve("a.yaml"), "kind: Process");
        awaitCall();
    }

    @Test
    void tellsOfALinkThatLeadsElsewhere() throws IOException {
        Path one = Files.createDirectory(temp.resolve("one"));
        Path two = Files.createDirectory(temp.resolve("two"));
        Path link = Files.createSymbolicLink(root.resolve("current"), one);
        awaitCall();
        Files.createFile(one.resolve("a.yaml"));
        awaitCall();
        Path fresh = Files.createSymbolicLink(temp.resolve("fresh"), two);
        Files.move(fresh, link, StandardCopyOption.ATOMIC_MOVE);
        awaitCall();
        Files.createFile(two.resolve("a.yaml"));
        awaitCall();
    }

    @Test
    void aLinkThatLeadsBackIsNotFollowedForEver() throws IOException {
        Files.createSymbolicLink(root.resolve("self"), root);
        awaitCall();
        Files.createFile(root.resolve("a.yaml"));
        awaitCall();
    }

    @Test
    void aFileCanBeWatchedByItself() throws IOException {
        changes.close();
        Path file = Files.createFile(temp.resolve("one.yaml"));
        changes = watching(file, temp.resolve("missing.yaml"));
        Files.writeString(file, "kind: Process");
        awaitCall();
        Files.writeString(temp.resolve("beside"), "of no interest");
        expectNoCall();
        Files.createFile(temp.resolve("missing.yaml"));
        awaitCall();
    }

    @Test
    void whatHappensBesideTheDirectoryIsOfNoInterest() throws IOException {
        Files.writeString(temp.resolve("etc/homeostat/agent.yaml"), "resync: 30s");
        Files.createDirectory(temp.resolve("etc/passwd.d"));
        expectNoCall();
    }

    @Test
    void manyChangesAreFewCalls() throws IOException {
        for (int i = 0; i < 500; i++) {
            Files.writeString(root.resolve(i + ".yaml"), "kind: Process");
        }
        await().atMost(DEADLINE).until(() -> calls.get() > 0);
        expectNoMoreCalls();
        // A busy machine takes longer for the changes than what a call waits for.
        assertTrue(calls.get() <= 50, calls + " calls");
    }

    @Test
    void changesWithoutEndAreToldMeanwhile() throws Exception {
        Thread writer = Thread.ofPlatform().start(() -> {
            for (int i = 0; !Thread.currentThread().isInterrupted(); i = (i + 1) % 10) {
                try {
                    Files.writeString(root.resolve(i + ".yaml"), "kind: Process");
                } catch (IOException e) {
                    return;
                }
            }
        });
        try {
            await().atMost(DEADLINE).until(() -> calls.get() >= 2);
        } finally {
            writer.interrupt();
            writer.join();
        }
    }

    @Test
    void whatWasLostInAFloodIsFoundAgain() throws Exception {
        changes.close();
        CountDownLatch busy = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        changes = new FileChanges(ImmutableSet.of(root), () -> {
            calls.incrementAndGet();
            busy.countDown();
            Uninterruptibles.awaitUninterruptibly(go);
        });
        Files.createFile(root.resolve("first"));
        assertTrue(busy.await(30, TimeUnit.SECONDS));
        // More than a watch key keeps: the directory's own event is lost.
        for (int i = 0; i < 1000; i++) {
            Files.createFile(root.resolve("f" + i));
        }
        Path late = Files.createDirectory(root.resolve("late"));
        go.countDown();
        awaitCall();

        Files.createFile(late.resolve("a.yaml"));
        awaitCall();
    }

    @Test
    void aCallThatThrowsIsNotTheLast() throws IOException {
        changes.close();
        changes = new FileChanges(ImmutableSet.of(root), () -> {
            calls.incrementAndGet();
            throw new IllegalStateException("on purpose");
        });
        Files.createFile(root.resolve("a.yaml"));
        awaitCall();
        Files.createFile(root.resolve("b.yaml"));
        awaitCall();
    }

    @Test
    void anUnreadableDirectoryHidesNoOtherAndIsSeenWhenItCanBe() throws IOException {
        assumeFalse(Files.isReadable(Path.of("/proc/1/environ")), "root may read everything");
        changes.close();
        Path closed = Files.createDirectory(root.resolve("closed"));
        Files.setPosixFilePermissions(closed, Set.of());
        changes = new FileChanges(
                ImmutableSet.of(root), calls::incrementAndGet, Duration.ofMillis(200), WatchedTree::new);

        Files.createFile(root.resolve("a.yaml"));
        awaitCall();
        Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("rwx------"));
        awaitCall();
        expectNoMoreCalls();
        Files.createFile(closed.resolve("a.yaml"));
        awaitCall();
    }

    private FileChanges watching(Path... paths) {
        return new FileChanges(ImmutableSet.copyOf(paths), calls::incrementAndGet);
    }

    /** Waits for a call, and then until the change has been told completely. */
    private void awaitCall() {
        await().atMost(DEADLINE).until(() -> calls.get() > 0);
        expectNoMoreCalls();
        calls.set(0);
    }

    private void expectNoMoreCalls() {
        AtomicInteger last = new AtomicInteger(-1);
        await().atMost(DEADLINE).pollInterval(NOTHING_COMES).until(() -> last.getAndSet(calls.get()) == calls.get());
    }

    private void expectNoCall() {
        await().during(NOTHING_COMES).atMost(DEADLINE).until(() -> calls.get() == 0);
    }
}
