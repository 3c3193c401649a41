package io.homeostat.observe.process;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.Identity.ProcessIdentity;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("Counts all of this JVM's descriptors.")
@Execution(ExecutionMode.SAME_THREAD)
class ExitWatcherTest {
    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private static final int PROCESSES = 200;

    private final ProcFs procFs = new ProcFs();
    private final ExitWatcher watcher = new ExitWatcher(procFs);
    private final List<ProcessHandle> started = new ArrayList<>();

    @AfterEach
    void leaveNothing() {
        watcher.close();
        started.forEach(ProcessHandle::destroyForcibly);
    }

    @Test
    void tellsWhenAChildEnds() throws Exception {
        Process child = child("sleep", "300");
        AtomicInteger ends = new AtomicInteger();

        watcher.watch(identity(child.pid()), ends::incrementAndGet);
        awaitWatched(1);
        assertEquals(0, ends.get());

        child.destroyForcibly();
        await().atMost(DEADLINE).until(() -> ends.get() == 1);
    }

    @Test
    void tellsWhenAProcessOfAnotherParentEnds() throws Exception {
        long adopted = orphan();
        AtomicInteger ends = new AtomicInteger();

        watcher.watch(identity(adopted), ends::incrementAndGet);
        awaitWatched(1);
        ProcessHandle.of(adopted).orElseThrow().destroyForcibly();

        await().atMost(DEADLINE).until(() -> ends.get() == 1);
    }

    @Test
    void theChildsExitStatusIsLeftToItsParent() throws Exception {
        Process child = child("sh", "-c", "read line; exit 7");
        CountDownLatch ended = new CountDownLatch(1);
        watcher.watch(identity(child.pid()), ended::countDown);
        awaitWatched(1);

        child.getOutputStream().close();

        assertTrue(ended.await(30, TimeUnit.SECONDS));
        assertEquals(7, child.waitFor());
    }

    @Test
    void tellsAtOnceOfAProcessThatHasEnded() throws Exception {
        Process child = child("true");
        ProcessIdentity identity = new ProcessIdentity(child.pid(), 1, procFs.bootId());
        assertEquals(0, child.waitFor());
        AtomicInteger ends = new AtomicInteger();

        watcher.watch(identity, ends::incrementAndGet);

        await().atMost(DEADLINE).until(() -> ends.get() == 1);
    }

    @Test
    void aProcessThatGotTheNumberOfAnotherIsNotTakenForIt() throws Exception {
        Process child = child("sleep", "300");
        ProcessIdentity now = identity(child.pid());
        AtomicInteger ends = new AtomicInteger();

        watcher.watch(new ProcessIdentity(now.pid(), now.startTicks() - 1, now.bootId()), ends::incrementAndGet);

        await().atMost(DEADLINE).until(() -> ends.get() == 1);
        assertEquals(0, descriptors("pidfd"));
    }

    @Test
    void aProcessOfAnEarlierBootHasEnded() throws Exception {
        Process child = child("sleep", "300");
        ProcessIdentity now = identity(child.pid());
        AtomicInteger ends = new AtomicInteger();

        watcher.watch(
                new ProcessIdentity(now.pid(), now.startTicks(), "00000000-0000-0000-0000-000000000000"),
                ends::incrementAndGet);

        await().atMost(DEADLINE).until(() -> ends.get() == 1);
    }

    @Test
    void askingAgainTellsOnce() throws Exception {
        Process child = child("sleep", "300");
        AtomicInteger ends = new AtomicInteger();
        for (int i = 0; i < 100; i++) {
            watcher.watch(identity(child.pid()), ends::incrementAndGet);
        }
        awaitWatched(1);

        child.destroyForcibly();

        await().atMost(DEADLINE).until(() -> ends.get() > 0);
        settle();
        assertEquals(1, ends.get());
    }

    @Test
    void neverCallsBackOnTheCallersThread() throws Exception {
        AtomicReference<Thread> caller = new AtomicReference<>();

        watcher.watch(new ProcessIdentity(1, -1, procFs.bootId()), () -> caller.set(Thread.currentThread()));

        await().atMost(DEADLINE).until(() -> caller.get() != null);
        assertNotEquals(Thread.currentThread(), caller.get());
        assertFalse(caller.get().isVirtual());
        assertTrue(caller.get().isDaemon());
    }

    @Test
    void aCallbackThatThrowsHarmsNoOther() throws Exception {
        Process child = child("sleep", "300");
        AtomicInteger ends = new AtomicInteger();
        watcher.watch(new ProcessIdentity(1, -1, procFs.bootId()), () -> {
            throw new IllegalStateException("on purpose");
        });
        watcher.watch(new ProcessIdentity(1, -2, procFs.bootId()), () -> {
            throw new AssertionError("on purpose");
        });
        watcher.watch(identity(child.pid()), ends::incrementAndGet);

        child.destroyForcibly();

        await().atMost(DEADLINE).until(() -> ends.get() == 1);
    }

    @Test
    void aCallbackMayWatchTheNextProcess() throws Exception {
        Process first = child("sleep", "300");
        Process second = child("sleep", "300");
        ProcessIdentity next = identity(second.pid());
        AtomicInteger ends = new AtomicInteger();
        watcher.watch(identity(first.pid()), () -> watcher.watch(next, ends::incrementAndGet));
        awaitWatched(1);

        first.destroyForcibly();
        await().atMost(DEADLINE).until(() -> descriptors("pidfd") == 1 && !first.isAlive());
        second.destroyForcibly();

        await().atMost(DEADLINE).until(() -> ends.get() == 1);
    }

    @Test
    void keepsNoDescriptorOfProcessesThatHaveEnded() throws Exception {
        AtomicInteger ends = new AtomicInteger();
        for (int i = 0; i < PROCESSES; i++) {
            Process child = child("true");
            watcher.watch(
                    new ProcessIdentity(child.pid(), startTicks(child.pid()), procFs.bootId()), ends::incrementAndGet);
        }
        await().atMost(Duration.ofMinutes(1)).until(() -> ends.get() == PROCESSES);

        assertEquals(0, descriptors("pidfd"));
    }

    @Test
    void keepsNoDescriptorWhenItIsClosed() throws Exception {
        long eventsBefore = descriptors("eventfd");
        AtomicInteger ends = new AtomicInteger();
        Process child = child("sleep", "300");
        try (ExitWatcher brief = new ExitWatcher(procFs)) {
            brief.watch(identity(child.pid()), ends::incrementAndGet);
            awaitWatched(1);
            brief.close();
            brief.watch(identity(child.pid()), ends::incrementAndGet);
        }

        assertEquals(0, descriptors("pidfd"));
        // Event loops of earlier tests may end meanwhile, but there are not as many of them.
        for (int i = 0; i < 50; i++) {
            new ExitWatcher(procFs).close();
        }
        long events = descriptors("eventfd");
        assertTrue(events <= eventsBefore, () -> events + " instead of " + eventsBefore);
        child.destroyForcibly().waitFor();
        settle();
        assertEquals(0, ends.get());
    }

    @Test
    void withoutDescriptorsOfProcessesThereAreNoHintsAndNoSecondTry() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        AtomicInteger ends = new AtomicInteger();
        try (ExitWatcher blind = new ExitWatcher(procFs, (proc, pid, ticks) -> {
            tries.incrementAndGet();
            return new Pidfd.Opened.Unsupported("pidfd_open failed with errno 38");
        })) {
            long own = ProcessHandle.current().pid();
            blind.watch(identity(own), ends::incrementAndGet);
            await().atMost(DEADLINE).until(() -> tries.get() == 1);
            for (int i = 0; i < 10; i++) {
                blind.watch(identity(own), ends::incrementAndGet);
            }
        }
        assertEquals(1, tries.get());
        assertEquals(0, ends.get());
    }

    @Test
    void aProcessThatCouldNotBeOpenedIsOpenedWhenAskedAgain() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        AtomicInteger ends = new AtomicInteger();
        Process child = child("sleep", "300");
        try (ExitWatcher crowded = new ExitWatcher(procFs, (proc, pid, ticks) -> {
            if (tries.incrementAndGet() == 1) {
                throw new IOException("pidfd_open on process " + pid + " failed with errno 24");
            }
            return Pidfd.open(proc, pid, ticks);
        })) {
            crowded.watch(identity(child.pid()), ends::incrementAndGet);
            await().atMost(DEADLINE).until(() -> tries.get() == 1);
            crowded.watch(identity(child.pid()), ends::incrementAndGet);
            awaitWatched(1);

            child.destroyForcibly();
            await().atMost(DEADLINE).until(() -> ends.get() == 1);
        }
    }

    /** Lets the watcher do all it was asked so far: it works in order. */
    private void settle() throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        watcher.watch(new ProcessIdentity(1, -99, procFs.bootId()), done::countDown);
        assertTrue(done.await(30, TimeUnit.SECONDS));
    }

    private static void awaitWatched(long processes) {
        await().atMost(DEADLINE).until(() -> descriptors("pidfd") == processes);
    }

    private Process child(String... command) throws IOException {
        Process process = new ProcessBuilder(command).start();
        started.add(process.toHandle());
        return process;
    }

    /** A process whose parent has ended. */
    private long orphan() throws Exception {
        Process parent = child("sh", "-c", "sleep 300 > /dev/null & echo $!");
        long pid;
        try (BufferedReader answer = parent.inputReader(StandardCharsets.UTF_8)) {
            pid = Long.parseLong(answer.readLine());
        }
        started.add(ProcessHandle.of(pid).orElseThrow());
        assertEquals(0, parent.waitFor());
        return pid;
    }

    private ProcessIdentity identity(long pid) throws IOException {
        return new ProcessIdentity(pid, startTicks(pid), procFs.bootId());
    }

    private long startTicks(long pid) throws IOException {
        return procFs.stat(pid).map(ProcFs.Stat::startTicks).orElse(0L);
    }

    /** Those of this JVM, which has none of this kind of its own. */
    private static long descriptors(String kind) throws IOException {
        long found = 0;
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            for (Path each : all.toList()) {
                try {
                    found += Files.readSymbolicLink(each).toString().contains("[" + kind + "]") ? 1 : 0;
                } catch (NoSuchFileException closed) {
                    // That of this very list is among them, and gone.
                }
            }
        }
        return found;
    }
}
