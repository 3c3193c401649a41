package io.homeostat.reconcile.agent.frontend;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.github.benmanes.caffeine.cache.Ticker;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class BoundedCommandTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int MEBIBYTE = 1 << 20;

    private final ManualTicker ticker = new ManualTicker();
    private final AtomicBoolean isCancelled = new AtomicBoolean();

    private BoundedCommand.Outcome run(ScriptedProcess process, Duration timeout)
            throws IOException, InterruptedException {
        return BoundedCommand.run(builder -> process, new ProcessBuilder("program"), timeout, ticker, isCancelled::get);
    }

    @Test
    void aCommandThatEndsHasAnExitStatusAndTwoOutputs() throws IOException, InterruptedException {
        ScriptedProcess process = ScriptedProcess.ended(3, "out", "err");

        BoundedCommand.Ended ended = assertInstanceOf(BoundedCommand.Ended.class, run(process, TIMEOUT));

        assertEquals(3, ended.exitStatus());
        assertEquals("out", ended.stdout().toStringUtf8());
        assertEquals("err", ended.stderr().toStringUtf8());
        assertTrue(process.isInputClosed());
        assertFalse(process.isKilled());
    }

    @Test
    void aCommandIsKilledWhenItsTimeIsOver() throws IOException, InterruptedException {
        int[] waits = new int[1];
        ScriptedProcess process = new ScriptedProcess(() -> {
            waits[0]++;
            ticker.advance(Duration.ofSeconds(10));
        });

        assertEquals(new BoundedCommand.TimedOut(), run(process, TIMEOUT));

        assertEquals(3, waits[0]);
        assertTrue(process.isKilled());
    }

    @Test
    void aCommandWithoutATimeoutRunsAsLongAsItTakes() throws IOException, InterruptedException {
        int[] waits = new int[1];
        ScriptedProcess[] process = new ScriptedProcess[1];
        process[0] = new ScriptedProcess(() -> {
            ticker.advance(Duration.ofDays(1));
            if (++waits[0] == 5) {
                process[0].end(0);
            }
        });

        assertInstanceOf(BoundedCommand.Ended.class, run(process[0], Duration.ZERO));
        assertFalse(process[0].isKilled());
    }

    @Test
    void aCommandThatNobodyWaitsForIsKilled() throws IOException, InterruptedException {
        isCancelled.set(true);
        ScriptedProcess process = new ScriptedProcess(() -> {});

        assertEquals(new BoundedCommand.Cancelled(), run(process, TIMEOUT));

        assertTrue(process.isKilled());
    }

    @Test
    void aCommandIsKilledWhenItsCallerIsInterrupted() {
        ScriptedProcess process = new ScriptedProcess();
        Thread.currentThread().interrupt();

        assertThrows(InterruptedException.class, () -> run(process, TIMEOUT));

        assertTrue(process.isKilled());
        assertFalse(Thread.interrupted());
    }

    @Test
    void ofAnOutputTheFirstTwoMebibytesAreKept() throws IOException, InterruptedException {
        ScriptedProcess process = new ScriptedProcess();
        process.print("a".repeat(2 * MEBIBYTE - 1));
        process.print("bcd");
        process.print("e".repeat(MEBIBYTE));
        process.printError("whole");
        process.end(0);

        BoundedCommand.Ended ended = assertInstanceOf(BoundedCommand.Ended.class, run(process, TIMEOUT));

        assertEquals(2 * MEBIBYTE, ended.stdout().size());
        assertEquals('b', ended.stdout().byteAt(2 * MEBIBYTE - 1));
        assertEquals("whole", ended.stderr().toStringUtf8());
    }

    @Test
    void whatACommandLeavesRunningHoldsNobodyUp() throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder("/bin/sh", "-c", "sleep 1000 & echo $!");

        BoundedCommand.Ended ended = assertInstanceOf(
                BoundedCommand.Ended.class,
                BoundedCommand.run(builder, Duration.ofMinutes(5), Ticker.systemTicker(), () -> false));

        ProcessHandle left = ProcessHandle.of(
                        Long.parseLong(ended.stdout().toStringUtf8().strip()))
                .orElseThrow();
        assertTrue(left.isAlive());
        left.destroyForcibly();
    }

    @Test
    void aCommandThatCanNotBeStartedIsAFailure() {
        assertThrows(
                IOException.class,
                () -> BoundedCommand.run(
                        builder -> {
                            throw new IOException("no such program");
                        },
                        new ProcessBuilder("program"),
                        TIMEOUT,
                        ticker,
                        isCancelled::get));
    }

    /** As one that has lost its parent is, in a session that a command below the process leads. */
    @Test
    void killingKillsWhatIsInASessionOfItsOwnBelowTheProcess() throws IOException {
        Process process = new ProcessBuilder(
                        "/bin/sh", "-c", "setsid --wait /bin/sh -c '(sleep 1000 & echo $!); sleep 1000'; exit $?")
                .start();
        ProcessHandle orphan = ProcessHandle.of(
                        Long.parseLong(process.inputReader(UTF_8).readLine()))
                .orElseThrow();
        assertTrue(orphan.isAlive());

        BoundedCommand.kill(process);

        await().atMost(TIMEOUT).until(() -> !orphan.isAlive() && !process.isAlive());
    }

    @Test
    void killingKillsTheProcess() {
        ScriptedProcess process = new ScriptedProcess();

        BoundedCommand.kill(process);

        assertTrue(process.isKilled());
        assertFalse(process.isAlive());
    }
}
