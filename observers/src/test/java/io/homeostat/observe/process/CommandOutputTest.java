package io.homeostat.observe.process;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import io.homeostat.observe.limits.AgentGroup;
import io.homeostat.observe.limits.CgroupLayout;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class CommandOutputTest {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private static Process sh(String script) throws IOException {
        return new ProcessBuilder("/bin/sh", "-c", script)
                .redirectErrorStream(true)
                .start();
    }

    private static String said(String script) throws IOException, InterruptedException {
        CommandOutput output = new CommandOutput();
        assertTrue(output.awaitEnd(sh(script), PATIENCE));
        return output.lastLines();
    }

    @Test
    void theLastLinesAreKept() throws Exception {
        assertEquals("", said("true"));
        assertEquals("two | three | four", said("printf 'one\\n\\n two\\nthree\\nfo\\tur\\n' | sed 's/\\t//'"));
    }

    @Test
    void aWordIsShownWholeOrNotAtAllSoThatASecretIsKnownAsOne() throws Exception {
        String line = "the token %s was refused";
        String fits = "x".repeat(200);
        assertEquals(line.formatted(fits), said("echo " + line.formatted(fits)));
        assertEquals("...was refused", said("echo " + line.formatted("x".repeat(900))));
        assertEquals("...was refused", said("echo " + line.formatted("x".repeat(9000))));
        assertEquals("...", said("echo " + "x".repeat(9000)));
        assertEquals("...,\"b\":\"c\"}", said("echo '{\"a\":\"" + "x".repeat(900) + "\",\"b\":\"c\"}'"));
        String password = "aaaaaaaaaa,Zx9;kQ\"72{\"h]unter2";
        assertEquals("..." + "y ".repeat(140).strip(), said("echo '" + password + " " + "y ".repeat(140) + "'"));
    }

    @Test
    void ofALineThatIsOneLongWordTheBeginningIsShownWithoutItsSecrets() throws Exception {
        String secret = "s".repeat(5000);
        CommandOutput output = new CommandOutput();
        assertTrue(output.awaitEnd(
                sh("echo before; printf 'no-such-key:%s:' " + secret + "; head -c 20000 /dev/zero | tr '\\0' x; echo"),
                PATIENCE));

        assertEquals("...", output.lastLines());
        assertEquals(
                "no-such-key:(masked):" + "x".repeat(279) + "...",
                output.lastLines(text -> text.replace(secret, "(masked)")));
    }

    @Test
    void whatIsMaskedIsMaskedBeforeItIsCut() throws Exception {
        CommandOutput output = new CommandOutput();
        assertTrue(output.awaitEnd(sh("echo refused: two words " + "y".repeat(290)), PATIENCE));

        assertEquals("...(masked) " + "y".repeat(290), output.lastLines(text -> text.replace("two words", "(masked)")));
    }

    @Test
    void whoPrintsMuchIsNotHeldUp() throws Exception {
        // 64 KiB, what a pipe holds, for each look of 20 ms would take 20 s.
        assertTrue(new CommandOutput().awaitEnd(sh("head -c 64000000 /dev/zero"), Duration.ofSeconds(18)));
    }

    @Test
    void thePipeOfACommandWhoseChildHoldsItsOutputIsClosed() throws Exception {
        Process process = sh("sleep 1000 & echo $!");
        CommandOutput output = new CommandOutput();
        assertTrue(output.awaitEnd(process, PATIENCE));

        ProcessHandle child =
                ProcessHandle.of(Long.parseLong(output.lastLines())).orElseThrow();
        assertTrue(child.isAlive());
        child.destroyForcibly();
        assertThrows(IOException.class, () -> process.getInputStream().available());
    }

    /** Of what has a traced thread, the JVM would never hear that it has ended; of what is traced itself, each time that it stops. */
    private static final String TRACED_BY_ITS_PARENT = """
            import ctypes, os, signal, threading
            trace = lambda: ctypes.CDLL(None).ptrace(0, 0, 0, 0)
            thread = threading.Thread(target=trace)
            thread.start()
            thread.join()
            trace()
            print('traced', flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)
            """;

    @Test
    void whatHasItselfTracedByItsParentLeavesNothing() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/python3")), "python3 calls ptrace(2) here");
        Process process = new ProcessBuilder(ImmutableList.<String>builder()
                        .addAll(AgentGroup.apart(CgroupLayout.NONE))
                        .add("/usr/bin/python3", "-c", TRACED_BY_ITS_PARENT)
                        .build())
                .start();
        assertEquals("traced", process.inputReader(StandardCharsets.UTF_8).readLine());

        boolean _ = new CommandOutput().awaitEnd(process, Duration.ofMillis(50));
        CommandOutput.kill(process);

        await().atMost(PATIENCE).until(() -> new ProcFs().stat(process.pid()).isEmpty());
    }

    @Test
    void whatDoesNotEndInTimeIsLeftAsItIs() throws Exception {
        Process process = sh("exec sleep 1000");
        try {
            assertFalse(new CommandOutput().awaitEnd(process, Duration.ofMillis(50)));
            assertTrue(process.isAlive());
        } finally {
            process.destroyForcibly();
        }
    }
}
