package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.homeostat.observe.process.ProcFs.ProcessKey;
import io.homeostat.observe.process.ProcessMemory.Unanswered;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ProcessMemoryTest {
    private static final int USER = 1001;
    private static final int OTHER = 1002;

    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private final AtomicLong now = new AtomicLong();
    private final ProcessMemory memory = new ProcessMemory(PATIENCE, now::get);
    private final CountDownLatch answers = new CountDownLatch(1);
    private final AtomicInteger threads = new AtomicInteger();

    private final Callable<String> hangs = () -> {
        threads.incrementAndGet();
        answers.await();
        return "at last";
    };

    @AfterEach
    void answer() {
        answers.countDown();
    }

    private static ProcessKey process(long pid) {
        return new ProcessKey(pid, 5000);
    }

    private Unanswered unanswered(int user, ProcessKey process) {
        return assertThrows(Unanswered.class, () -> memory.read(user, process, hangs));
    }

    @Test
    void aProcessThatDoesNotAnswerIsNotAskedAgainUntilItHas() throws Exception {
        assertEquals(Set.of(process(7)), unanswered(USER, process(7)).holders());
        assertEquals(Set.of(process(7)), unanswered(USER, process(7)).holders());
        assertEquals(1, threads.get());

        assertEquals("another's number", memory.read(USER, new ProcessKey(7, 6000), () -> "another's number"));
        answers.countDown();

        Awaitility.await()
                .atMost(Duration.ofSeconds(30))
                .ignoreException(Unanswered.class)
                .until(() -> memory.read(USER, process(7), () -> "now").equals("now"));
    }

    @Test
    void nobodyHasMoreThreadsWaitThanAFewAndOthersAreAskedAllTheSame() throws Exception {
        for (long pid = 1; pid <= ProcessMemory.MOST_HANGING; pid++) {
            unanswered(USER, process(pid));
        }

        assertEquals(
                ProcessMemory.MOST_HANGING,
                unanswered(USER, process(100)).holders().size());

        assertEquals(ProcessMemory.MOST_HANGING, threads.get());
        assertEquals("read", memory.read(OTHER, process(200), () -> "read"));
    }

    /** A user may have thousands of processes, each of which answers just in time. */
    @Test
    void answersThatAreLateUseUpThePatienceWithAUserAndOnTimeOnesDoNot() throws Exception {
        // Only by the clock of the test is anything late.
        Duration patience = Duration.ofSeconds(30);
        ProcessMemory own = new ProcessMemory(patience, now::get);
        for (long pid = 1; pid <= 1000; pid++) {
            own.read(USER, process(pid), () -> now.addAndGet(patience.toNanos() / 100));
        }
        assertEquals(patience, own.patience(USER));
        for (int user : List.of(USER, Account.ourUid())) {
            for (long pid = 1; pid <= 3; pid++) {
                own.read(user, process(pid), () -> now.addAndGet(patience.toNanos() * 9 / 10));
            }
        }

        assertEquals(patience.dividedBy(100), own.patience(USER));
        assertEquals(patience, own.patience(OTHER));
        assertEquals(patience, own.patience(Account.ourUid()));
        now.addAndGet(Duration.ofHours(1).toNanos());
        assertEquals(patience, own.patience(USER));
    }
}
