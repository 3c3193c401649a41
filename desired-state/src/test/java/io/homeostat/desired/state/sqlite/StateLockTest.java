package io.homeostat.desired.state.sqlite;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class StateLockTest {
    private static final Clock CLOCK = Clock.systemUTC();
    private static final Duration LONG = Duration.ofMinutes(2);

    @TempDir
    Path directory;

    private Path state;
    private Path lock;
    private final List<String> waited = new CopyOnWriteArrayList<>();

    @BeforeEach
    void locate() {
        state = directory.resolve("state");
        lock = state.resolve("lock");
    }

    @Test
    void aFreeLockIsTakenWithoutWaitingAndSaysWhoHasIt() throws IOException {
        try (StateLock _ = acquire(Duration.ZERO)) {
            assertEquals(List.of(), waited);
            assertTrue(Files.readString(lock).startsWith(ProcessHandle.current().pid() + " apply "));
            assertEquals("rw-------", permissions(lock));
            assertEquals("rwx------", permissions(state));
        }
    }

    @Test
    void aLockThatWasReleasedCanBeTakenAgain() {
        acquire(Duration.ZERO).close();

        acquire(Duration.ZERO).close();

        assertEquals(Optional.empty(), StateLock.holder(lock));
    }

    @Test
    void whoFindsTheLockTakenIsToldByWhomAndGivesUpInTheEnd() throws IOException {
        try (ChildJvm holder = ChildJvm.start(LockHolder.class, lock.toString(), "run")) {
            holder.awaitLines(1);

            StoreException failure = assertThrows(StoreException.class, () -> acquire(Duration.ofSeconds(1)));

            String who = "homeostat run (pid " + holder.pid() + ")";
            assertEquals(List.of("waiting for " + who + " to release " + state), waited);
            assertTrue(failure.getMessage().contains(who), failure::getMessage);
            assertTrue(failure.getMessage().contains(state.toString()), failure::getMessage);
            assertEquals(Optional.of(who), StateLock.holder(lock));
        }
    }

    @Test
    void theHolderIsNamedEvenIfThePatienceHasRunOutByTheFirstAttemptAfterTheGracePeriod() {
        AtomicInteger looks = new AtomicInteger();
        InstantSource slow = () -> Instant.EPOCH.plusSeconds(10L * looks.getAndIncrement());
        try (StateLock _ = acquire(Duration.ZERO)) {
            assertThrows(
                    StoreException.class,
                    () -> StateLock.acquire(
                            lock, "apply", Duration.ofSeconds(1), slow.withZone(ZoneOffset.UTC), waited::add));

            assertEquals(1, waited.size());
        }
    }

    @Test
    void aKilledHolderHoldsNothingAndIsNotBlamedForWhatComesLater() throws Exception {
        long dead;
        try (ChildJvm holder = ChildJvm.start(LockHolder.class, lock.toString(), "run")) {
            holder.awaitLines(1);
            dead = holder.pid();
            holder.kill();
        }
        assertTrue(Files.readString(lock).startsWith(dead + " run "));

        assertEquals(Optional.empty(), StateLock.holder(lock));
        acquire(Duration.ZERO).close();
        assertEquals(List.of(), waited);
    }

    @Test
    void whatADeadHolderWroteIsNotTakenForTheWordsOfThePresentOne() throws Exception {
        try (ChildJvm holder = ChildJvm.start(LockHolder.class, lock.toString(), "run")) {
            holder.awaitLines(1);
            Files.writeString(lock, "999999999 apply 2026-11-20T12:00:00Z\n");

            assertEquals(Optional.of("another homeostat"), StateLock.holder(lock));
            Files.writeString(lock, "");
            assertEquals(Optional.of("another homeostat"), StateLock.holder(lock));
        }
    }

    @Test
    void theLockPassesToWhoeverIsWaiting() throws Exception {
        try (ChildJvm holder = ChildJvm.start(LockHolder.class, lock.toString(), "apply");
                ExecutorService thread = Executors.newSingleThreadExecutor()) {
            holder.awaitLines(1);
            Future<StateLock> next = thread.submit(() -> acquire(LONG));
            await().atMost(LONG).until(() -> !waited.isEmpty());
            assertFalse(next.isDone());

            holder.kill();

            next.get().close();
            assertEquals(1, waited.size());
        }
    }

    @Test
    void askingForTheLockOfThisProcessDoesNotGiveItAway() throws Exception {
        try (StateLock _ = acquire(Duration.ZERO)) {
            assertTrue(StateLock.holder(lock)
                    .orElseThrow()
                    .contains("pid " + ProcessHandle.current().pid()));
            assertThrows(StoreException.class, () -> acquire(Duration.ZERO));

            try (ChildJvm other = ChildJvm.start(LockHolder.class, lock.toString(), "apply")) {
                List<String> output = other.awaitEnd();
                assertEquals(1, other.exitStatus());
                assertTrue(
                        output.getFirst()
                                .contains("homeostat apply (pid "
                                        + ProcessHandle.current().pid() + ")"),
                        output::toString);
            }
        }
    }

    @Test
    void askingForALockThatWasNeverTakenMakesNoFile() {
        assertEquals(Optional.empty(), StateLock.holder(lock));

        assertFalse(Files.exists(state));
    }

    @Test
    void askingForALockChangesNothing() throws IOException {
        acquire(Duration.ZERO).close();
        String before = Files.readString(lock) + Files.getLastModifiedTime(lock);

        assertEquals(Optional.empty(), StateLock.holder(lock));

        assertEquals(before, Files.readString(lock) + Files.getLastModifiedTime(lock));
    }

    @Test
    void aLockThatCantBeMadeIsAnErrorThatNamesIt() throws IOException {
        Files.createDirectories(lock);

        StoreException failure = assertThrows(StoreException.class, () -> acquire(Duration.ZERO));

        assertTrue(failure.getMessage().contains(lock.toString()), failure::getMessage);
    }

    private StateLock acquire(Duration patience) {
        return StateLock.acquire(lock, "apply", patience, CLOCK, waited::add);
    }

    private static String permissions(Path file) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
    }
}
