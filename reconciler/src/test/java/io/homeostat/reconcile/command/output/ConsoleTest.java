package io.homeostat.reconcile.command.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.StoreException;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.GlobalOptions.OutputFormat;
import io.homeostat.reconcile.command.environment.UsageException;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.ZipException;
import org.junit.jupiter.api.Test;

class ConsoleTest {
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private final PrintStream err = new PrintStream(written, true, StandardCharsets.UTF_8);
    private final Console console = new Console(err, err, OutputFormat.TEXT, new Ansi(false));

    @Test
    void whatNobodyForesawIsAFailureWithoutAStack() throws InterruptedException {
        for (Throwable problem :
                new Throwable[] {new NullPointerException("nothing there"), new StackOverflowError()}) {
            written.reset();

            assertEquals(ExitStatus.FAILED, console.tellFailures("stop", false, () -> fail(problem)));

            String told = written.toString(StandardCharsets.UTF_8);
            assertTrue(told.startsWith("homeostat: stop: "), told);
            assertTrue(told.contains("--log-level debug"), told);
            assertFalse(told.contains("\tat "), told);
        }
    }

    @Test
    void whatOthersWroteIsShownWithoutWhatATerminalObeys() {
        console.say("a\u001b[2J\u202eb\u2028c\nnext");
        assertEquals("homeostat: a?[2J?b?c\nnext\n", written.toString(StandardCharsets.UTF_8));

        written.reset();
        new Console(err, err, OutputFormat.JSON, new Ansi(false)).say("a\u001b[2J\u009b\u202eb\u2028c\udb40\udc41");
        assertTrue(
                written.toString(StandardCharsets.UTF_8)
                        .contains("\"a\\u001B[2J\\u009b\\u202eb\\u2028c\\udb40\\udc41\""),
                written.toString(StandardCharsets.UTF_8));
    }

    @Test
    void aProgramThatCanNotBeReadIsNoDefect() throws InterruptedException {
        for (Throwable problem : new Throwable[] {
            new NoClassDefFoundError("picocli/CommandLine"),
            new IllegalStateException("no such service", new ZipException("invalid CEN header"))
        }) {
            written.reset();

            assertEquals(ExitStatus.FAILED, console.tellFailures("stop", false, () -> fail(problem)));

            String told = written.toString(StandardCharsets.UTF_8);
            assertTrue(told.contains("is being overwritten, or its installation is damaged"), told);
            assertFalse(told.contains("defect"), told);
        }
    }

    @Test
    void whoeverIsInterruptedWhileAFileIsReadHasNotFailed() {
        for (RuntimeException failure : List.of(
                new CommandFailure("cannot read log", new ClosedByInterruptException()),
                new StoreException("interrupted while reading", new InterruptedException()),
                new UncheckedIOException(new ClosedByInterruptException()))) {
            assertThrows(InterruptedException.class, () -> console.tellFailures("logs", false, () -> fail(failure)));
        }

        assertEquals("", written.toString(StandardCharsets.UTF_8));
    }

    @Test
    void itsStackIsForThoseWhoLookForTheFault() throws InterruptedException {
        console.tellFailures("stop", true, () -> fail(new NullPointerException("nothing there")));

        assertTrue(written.toString(StandardCharsets.UTF_8).contains("at " + ConsoleTest.class.getName()));
    }

    @Test
    void aMistakeInTheCallIsForTheCallerToTell() {
        assertThrows(
                UsageException.class, () -> console.tellFailures("stop", false, () -> fail(new UsageException("no"))));
    }

    @Test
    void whatIsSaidWhileACommandGoesOnIsReadAtOnceByProgramsToo() {
        PrintStream buffered = new PrintStream(new BufferedOutputStream(written), false, StandardCharsets.UTF_8);
        for (OutputFormat format : OutputFormat.values()) {
            written.reset();
            Console one = new Console(buffered, buffered, format, new Ansi(false));
            one.say("lines given up");
            one.failPart("status", "overwritten");
            String told = written.toString(StandardCharsets.UTF_8);
            assertTrue(told.contains("lines given up") && told.contains("overwritten"), told);
        }
    }

    private static int fail(Throwable problem) {
        switch (problem) {
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            default -> throw new IllegalArgumentException(problem);
        }
    }
}
