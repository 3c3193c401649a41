package io.homeostat.reconcile.logs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LogEnds;
import io.homeostat.actuate.launch.LogRotation;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogFilesTest {
    private static final WorkloadId ID = WorkloadId.process("p");

    @TempDir
    Path directory;

    private Layout layout;
    private LogFiles logs;

    @BeforeEach
    void makeDirectories() throws IOException {
        layout = new Layout(directory, directory, "i");
        logs = new LogFiles(layout);
        Files.createDirectories(layout.workloadState(ID));
    }

    @Test
    void whatNeverWroteHasNoLastLines() {
        assertEquals("", logs.lastLines(ID));
    }

    @Test
    void aShortLogIsShownWhole() throws IOException {
        write("one\n\ntwo\n");
        assertEquals("one\n\ntwo", logs.lastLines(ID));
    }

    @Test
    void ofALongLogThereAreThirtyLines() throws IOException {
        write(IntStream.range(0, 100_000).mapToObj(i -> "line " + i).collect(Collectors.joining("\n")));
        String[] lines = logs.lastLines(ID).split("\n", -1);
        assertEquals(30, lines.length);
        assertEquals("line 99970", lines[0]);
        assertEquals("line 99999", lines[29]);
    }

    @Test
    void rightAfterARotationTheLastLinesAreThoseThatWereMovedAway() throws IOException {
        write("three\n");
        Path newest = layout.log(ID).resolveSibling(layout.log(ID).getFileName() + ".1");
        Files.writeString(newest, "one\ntwo\n");
        assertEquals("one\ntwo\nthree", logs.lastLines(ID));

        Files.writeString(
                newest, IntStream.range(0, 40).mapToObj(i -> "line " + i).collect(Collectors.joining("\n")));
        String[] lines = logs.lastLines(ID).split("\n", -1);
        assertEquals(30, lines.length);
        assertEquals("line 11", lines[0]);
        assertEquals("three", lines[29]);
    }

    @Test
    void aLineWithoutEndIsCutToABound() throws IOException {
        write("x".repeat(10_000_000));
        assertEquals(64 * 1024, logs.lastLines(ID).length());
    }

    @Test
    void aLineOfWhichOnlyTheEndWasReadIsLeftOut() throws IOException {
        write("x".repeat(100_000) + "\nlast\n");
        assertEquals("last", logs.lastLines(ID));
    }

    @Test
    void aLogThatCouldNotBeOpenedIsTold() throws IOException {
        Path launch = Files.createDirectories(layout.launch(ID, "launch"));
        String refused = "homeostat: 6: cannot create " + layout.log(ID) + ": Is a directory";
        Files.writeString(launch.resolve("output"), "homeostat: 3: no such group\n" + refused + "\n");

        assertEquals(refused, logs.lastLines(ID));

        write("before\n");
        assertEquals("before\n" + refused, logs.lastLines(ID));
    }

    @Test
    void whatALoaderSaidBeforeTheLogWasOpenIsTold() throws IOException {
        Path launch = Files.createDirectories(layout.launch(ID, "launch"));
        String said =
                "/bin/sh: error while loading shared libraries: libc.so.6: cannot open shared object file: Error 24";
        Files.writeString(launch.resolve("output"), said + "\n");
        assertEquals(said, logs.lastLines(ID));
    }

    @Test
    void whatAPluginWroteToItsLogOfErrorsIsToldUnlessItIsFromAFormerLaunch() throws IOException {
        WorkloadId plugin = WorkloadId.plugin("p");
        Files.createDirectories(layout.workloadState(plugin));
        Files.writeString(layout.log(plugin), "output\n");
        Path errors = Files.writeString(layout.workloadState(plugin).resolve("errors.log"), "panic: no such key\n");

        assertEquals("output\nerrors.log:\npanic: no such key", logs.lastLines(plugin));

        new LogEnds(layout).note(plugin);
        assertEquals("", logs.lastLines(plugin));
        Files.writeString(layout.log(plugin), "again\n", StandardOpenOption.APPEND);
        assertEquals("again", logs.lastLines(plugin));
        Files.writeString(errors, "panic: no such door\n", StandardOpenOption.APPEND);
        assertEquals("again\nerrors.log:\npanic: no such door", logs.lastLines(plugin));
    }

    @Test
    void theEndsOfSeveralLogsAreKeptApartThoughOneOfThemIsRotated() throws IOException, ActuationFailure {
        WorkloadId plugin = WorkloadId.plugin("p");
        Files.createDirectories(layout.workloadState(plugin));
        Path log = Files.writeString(layout.log(plugin), "old output\n");
        Path errors = Files.writeString(layout.workloadState(plugin).resolve("errors.log"), "old\n");
        new LogEnds(layout).note(plugin);

        Files.writeString(log, "new output\n", StandardOpenOption.APPEND);
        Files.writeString(errors, "new\n", StandardOpenOption.APPEND);
        assertTrue(new LogRotation().rotate(log, 100, 4).isPresent());

        assertEquals("new output\nerrors.log:\nnew", logs.lastLines(plugin));
    }

    @Test
    void whatWasWrittenBeforeTheLastLaunchIsNoneOfItsLines() throws IOException, ActuationFailure {
        write("old1\nold2\n");
        new LogEnds(layout).note(ID);
        assertEquals("", logs.lastLines(ID));
        append("new\n");
        assertEquals("new", logs.lastLines(ID));
        assertEquals("old1\nold2\nnew", logs.newestLines(ID));

        rotate();
        assertEquals("new", logs.lastLines(ID));
        append("more\n");
        assertEquals("new\nmore", logs.lastLines(ID));
    }

    @Test
    void ofWhatWasRotatedSeveralTimesSinceTheLaunchTheNewestLinesAreIts() throws IOException, ActuationFailure {
        write("old\n");
        rotate();
        write("older than the launch, and longer than what it writes\n");
        new LogEnds(layout).note(ID);
        for (int line = 1; line <= 7; line++) {
            append("line " + line + "\n");
            rotate();
        }
        append("last\n");
        assertEquals("line 7\nlast", logs.lastLines(ID));
    }

    @Test
    void whatWasTruncatedOrReplacedSinceTheLaunchIsAllOfIt() throws IOException {
        write("old1\nold2\n");
        new LogEnds(layout).note(ID);
        write("new\n");
        assertEquals("new", logs.lastLines(ID));

        write("old1\nold2\n");
        new LogEnds(layout).note(ID);
        Path other = Files.writeString(layout.workloadState(ID).resolve("other"), "as long as that\n");
        Files.move(other, layout.log(ID), StandardCopyOption.REPLACE_EXISTING);
        assertEquals("as long as that", logs.lastLines(ID));
    }

    private void append(String text) throws IOException {
        Files.writeString(layout.log(ID), text, StandardOpenOption.APPEND);
    }

    private void rotate() throws IOException, ActuationFailure {
        long lessThanItHas = Files.size(layout.log(ID)) - 1;
        assertTrue(
                new LogRotation().rotate(layout.log(ID), 5 * lessThanItHas, 4).isPresent());
    }

    @Test
    void nothingInItCanSpeakToATerminal() throws IOException {
        write("a\u001b[31mb\u0007\r\nc\td\u202ee\u0000");
        assertEquals("a?[31mb?\nc\td?e?", logs.lastLines(ID));
    }

    @Test
    void bytesThatAreNoTextDoNoHarm() throws IOException {
        Files.write(layout.log(ID), new byte[] {(byte) 0xff, 'a', (byte) 0xc3, '\n', 'b'});
        assertTrue(logs.lastLines(ID).endsWith("\nb"), logs.lastLines(ID));
    }

    @Test
    void aSymlinkIsNotFollowed() throws IOException {
        Path secret = Files.writeString(directory.resolve("secret"), "secret");
        Files.createSymbolicLink(layout.log(ID), secret);
        assertEquals("", logs.lastLines(ID));
    }

    private void write(String text) throws IOException {
        Files.write(layout.log(ID), text.getBytes(StandardCharsets.UTF_8));
    }
}
