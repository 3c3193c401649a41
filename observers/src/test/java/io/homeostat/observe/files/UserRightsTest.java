package io.homeostat.observe.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.observe.process.Account;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class UserRightsTest {
    private final UserRights rights = new UserRights(Duration.ofMillis(50), Ticker.systemTicker());
    private final UserRights patient = new UserRights(Duration.ofMinutes(1), Ticker.systemTicker());
    private final CountDownLatch answers = new CountDownLatch(1);
    private final AtomicInteger looks = new AtomicInteger();

    private final Callable<String> hangs = () -> {
        looks.incrementAndGet();
        answers.await();
        return "at last";
    };

    @Test
    void whatHangsIsAbandonedAndNotLookedAtAgainUntilItHasAnswered() throws Exception {
        FileSystemException late = assertThrows(FileSystemException.class, () -> rights.with(null, "/f", hangs));
        assertEquals("it can't be read within 50ms", late.getReason());

        FileSystemException again = assertThrows(FileSystemException.class, () -> rights.with(null, "/f", hangs));

        assertEquals("an earlier look at it has not ended", again.getReason());
        assertEquals(1, looks.get());
        assertEquals("another", rights.with(null, "/g", () -> "another"));
        answers.countDown();
        Awaitility.await()
                .atMost(Duration.ofSeconds(30))
                .ignoreException(FileSystemException.class)
                .until(() -> rights.with(null, "/f", () -> "now").equals("now"));
    }

    @Test
    void aProgramOfAUserHoldsNobodyUp() throws Exception {
        FileSystemException late = assertThrows(FileSystemException.class, () -> rights.lookFor(true, "/f", hangs));
        assertEquals("it can't be read within 50ms", late.getReason());
        answers.countDown();

        assertSame(Thread.currentThread(), rights.lookFor(false, "/f", Thread::currentThread));
    }

    @Test
    void itIsDoneOnAThreadThatEndsWithIt() throws Exception {
        Thread thread = patient.with(null, "/f", Thread::currentThread);

        thread.join();
        assertNotSame(Thread.currentThread(), thread);
        assertFalse(thread.isVirtual());
    }

    @Test
    void whoMayNotReadAFileIsNamedWithTheRemedy() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root reads as another user");
        ProgramUser nobody = new ProgramUser("nobody", null, ImmutableList.of());

        FileSystemException denied = assertThrows(
                FileSystemException.class,
                () -> patient.with(nobody, "/f", () -> {
                    throw new AccessDeniedException("/f");
                }));

        assertEquals(
                "the user nobody may not read it, or not enter a directory above it; let it (chgrp, chmod, or"
                        + " spec.supplementaryGroups), or leave out spec.user",
                denied.getReason());
        assertThrows(
                AccessDeniedException.class,
                () -> patient.with(null, "/f", () -> {
                    throw new AccessDeniedException("/f");
                }));
    }
}
