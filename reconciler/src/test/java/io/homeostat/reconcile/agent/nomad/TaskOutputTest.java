package io.homeostat.reconcile.agent.nomad;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LogRotation;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TaskOutputTest {
    private static final Duration LONGEST = Duration.ofSeconds(60);
    private static final int LINES = 200;
    private static final int ROOM = 6000;

    @TempDir
    private Path directory;

    private final ByteArrayOutputStream said = new ByteArrayOutputStream();
    private Path log;
    private Path target;

    @BeforeEach
    void prepare() throws IOException {
        log = directory.resolve("log");
        target = Files.createFile(directory.resolve("target"));
    }

    private TaskOutput output(String to) {
        return new TaskOutput(
                log,
                to,
                directory.resolve("position"),
                new HostLog(new PrintStream(said, true, StandardCharsets.UTF_8), () -> Instant.EPOCH));
    }

    private static String lines(int from) {
        return IntStream.range(from, from + LINES)
                .mapToObj(number -> "line " + number + "\n")
                .collect(Collectors.joining());
    }

    private void append(String text) throws IOException {
        Files.writeString(log, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private void rotate() throws ActuationFailure {
        assertTrue(new LogRotation().rotate(log, ROOM, 5).isPresent());
    }

    private void awaitTarget(String text) {
        await().atMost(LONGEST).until(() -> Files.readString(target).equals(text));
    }

    @Test
    void whatNobodyWantsEndsAtOnce() throws IOException {
        append("a");
        for (String none : new String[] {"", "/dev/null"}) {
            TaskOutput output = output(none);
            output.finish();
            output.forget();
        }
        assertEquals("", said.toString(StandardCharsets.UTF_8));
    }

    @Test
    void itGoesOnWhereAnotherOneCameTo() throws IOException {
        append("a");
        TaskOutput first = output(target.toString());
        awaitTarget("a");
        first.finish();

        append("b");
        TaskOutput second = output(target.toString());
        second.finish();

        assertEquals("ab", Files.readString(target));
        second.forget();
        assertTrue(Files.notExists(directory.resolve("position")));
    }

    @Test
    void whatWasRotatedMeanwhileIsCopiedAsWell() throws Exception {
        append(lines(0));
        TaskOutput first = output(target.toString());
        awaitTarget(lines(0));
        first.finish();

        append(lines(1000));
        rotate();
        // Longer than what was copied of it.
        append(lines(2000) + lines(3000));
        TaskOutput second = output(target.toString());

        awaitTarget(lines(0) + lines(1000) + lines(2000) + lines(3000));
        second.forget();
    }

    @Test
    void aLinkInTheLogsPlaceIsNotFollowed() throws IOException {
        Path secret = Files.writeString(directory.resolve("secret"), "secret");
        Files.createSymbolicLink(log, secret);
        TaskOutput output = output(target.toString());
        await().atMost(LONGEST)
                .until(() -> said.toString(StandardCharsets.UTF_8).contains("no regular file"));

        Files.delete(log);
        append("a");

        awaitTarget("a");
        output.forget();
        assertEquals(1, said.toString(StandardCharsets.UTF_8).lines().count());
    }

    @Test
    void aPipeInTheLogsPlaceHoldsNobodyUp() throws Exception {
        assertEquals(0, new ProcessBuilder("mkfifo", log.toString()).start().waitFor());
        TaskOutput output = output(target.toString());
        await().atMost(LONGEST)
                .until(() -> said.toString(StandardCharsets.UTF_8).contains("no regular file"));
        Files.delete(log);
        append("a");
        awaitTarget("a");
        output.forget();
    }

    @Test
    void aTargetThatIsNotOneIsTriedAgain() throws IOException {
        append("a");
        Path elsewhere = Files.createFile(directory.resolve("elsewhere"));
        Path link = Files.createSymbolicLink(directory.resolve("link"), elsewhere);
        TaskOutput output = output(link.toString());
        await().atMost(LONGEST)
                .until(() -> said.toString(StandardCharsets.UTF_8).contains("neither"));
        Files.delete(link);
        Files.move(target, link);
        target = link;
        awaitTarget("a");
        output.forget();
        assertFalse(Files.size(elsewhere) > 0);
    }
}
