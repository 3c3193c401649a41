package io.homeostat.reconcile.logs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
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
    void whatAPluginWroteToItsLogOfErrorsIsToldUnlessItIsFromAFormerLaunch() throws IOException {
        WorkloadId plugin = WorkloadId.plugin("p");
        Files.createDirectories(layout.workloadState(plugin));
        Path claim = Files.createFile(
                Files.createDirectories(layout.launch(plugin, "launch")).resolve("claim"));
        Files.writeString(layout.log(plugin), "output\n");
        Path errors = Files.writeString(layout.workloadState(plugin).resolve("errors.log"), "panic: no such key\n");

        assertEquals("output\nerrors.log:\npanic: no such key", logs.lastLines(plugin));

        Files.setLastModifiedTime(errors, FileTime.from(Instant.EPOCH));
        assertEquals("output", logs.lastLines(plugin));
        Files.delete(claim);
        assertEquals("output\nerrors.log:\npanic: no such key", logs.lastLines(plugin));
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
