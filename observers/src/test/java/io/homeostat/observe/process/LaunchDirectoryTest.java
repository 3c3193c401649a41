package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.io.Resources;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.process.LaunchDirectory.Born;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LaunchDirectoryTest {
    @TempDir
    Path root;

    private LaunchDirectory directory() {
        return new LaunchDirectory(root);
    }

    @Test
    void whatIsGoneOrNoDirectoryIsNotAmongTheLaunches() throws Exception {
        Path launches = root.resolve("launches");
        assertEquals(List.of(), LaunchDirectory.all(launches));

        Path launch = Files.createDirectories(launches.resolve("web/l1"));
        Files.createFile(launches.resolve("file"));
        Files.createFile(launches.resolve("web/file"));
        // Listed, and not there when it is asked for.
        Files.createSymbolicLink(launches.resolve("removed"), root.resolve("nowhere"));
        Files.createSymbolicLink(launches.resolve("web/removed"), root.resolve("nowhere"));

        assertEquals(List.of(new LaunchDirectory(launch)), LaunchDirectory.all(launches));
    }

    @Test
    void aNoteIsReadAsItWasWritten() throws Exception {
        Instance bare = Launches.instance("l1");
        Instance full = new Instance(
                        "l2",
                        bare.workload(),
                        "t",
                        "r",
                        "ops-agent_r",
                        bare.inputs(),
                        bare.launchedAt(),
                        null,
                        bare.phase(),
                        "")
                .withIdentity(new ProcessIdentity(5, 77, "b"))
                .withPhase(Phase.STARTED, "hash");

        for (Instance instance : new Instance[] {bare, full}) {
            LaunchNote note = new LaunchNote(instance, "boot");
            assertEquals(note, LaunchNote.fromJson(note.toJson()));
        }
    }

    @Test
    void notesOfTheFirstFormatAreRead() throws Exception {
        LaunchNote plugin = LaunchNote.fromJson(resource("launch-of-format-1-plugin.json"));
        LaunchNote process = LaunchNote.fromJson(resource("launch-of-format-1-process.json"));

        String boot = "802d7b16-ba13-4347-b0df-6b36b0ac6743";
        assertEquals(boot, plugin.bootId());
        assertEquals(WorkloadId.plugin("greeter"), plugin.instance().workload());
        assertEquals("4a880506-ce8e-498b-a644-294b1867237c", plugin.instance().launchId());
        assertEquals("greeter_1", plugin.instance().directory());
        assertEquals(new ProcessIdentity(20995, 333858, boot), plugin.instance().identity());
        assertEquals(Phase.STARTED, plugin.instance().phase());
        assertEquals(4, plugin.instance().inputs().size());
        assertTrue(plugin.instance().configHash().startsWith("2cf24dba"));
        assertEquals(boot, process.bootId());
        assertEquals(WorkloadId.process("web"), process.instance().workload());
        assertNull(process.instance().directory());
        assertNull(process.instance().identity());
        assertEquals(Phase.INTENDED, process.instance().phase());
        assertEquals(
                Instant.parse("2026-11-22T11:25:33.335Z"), process.instance().launchedAt());
    }

    @ParameterizedTest
    @CsvSource({"NOT_SENT, CREATED", "SENT, START_SENT", "SUCCEEDED, STARTED"})
    void thePhasesOfTheFirstFormatAreRead(String word, Phase phase) throws Exception {
        String text = resource("launch-of-format-1-plugin.json").replace("SUCCEEDED", word);

        assertEquals(phase, LaunchNote.fromJson(text).instance().phase());
    }

    private static String resource(String name) throws IOException {
        return Resources.toString(Resources.getResource(LaunchDirectoryTest.class, name), StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "{\"format\":2}", "nonsense", "{\"format\":1,\"launchId\":\"l\"}"})
    void aNoteThatIsNoneIsAnErrorThatNamesTheFile(String text) throws Exception {
        Files.writeString(directory().noteFile(), text);

        IOException e = assertThrows(IOException.class, directory()::note);
        assertTrue(
                String.valueOf(e.getMessage()).startsWith(directory().noteFile() + " can't be used: "), e.getMessage());
    }

    @Test
    void aNoteOfAnUnknownStateOfStartIsAnError() throws Exception {
        String text = new LaunchNote(Launches.instance("l1"), "b").toJson().replace("INTENDED", "MAYBE");
        Files.writeString(directory().noteFile(), text);

        assertThrows(IOException.class, directory()::note);
    }

    @Test
    void whatIsNoFileOfOursIsAnErrorThatNamesIt() throws Exception {
        Path note = directory().noteFile();
        Files.createDirectories(note.getParent());
        assertEquals(0, new ProcessBuilder("mkfifo", note.toString()).start().waitFor());
        assertEquals(note.toString(), unreadable());
        Files.delete(note);
        Files.createSymbolicLink(note, Path.of("/dev/zero"));
        assertEquals(note.toString(), unreadable());
        Files.delete(note);
        try (RandomAccessFile sparse = new RandomAccessFile(note.toFile(), "rw")) {
            sparse.setLength(3L << 30);
        }
        assertEquals(note.toString(), unreadable());
    }

    private String unreadable() {
        return assertThrows(FileSystemException.class, () -> directory().note()).getFile();
    }

    @Test
    void nothingIsKnownOfAnEmptyDirectory() throws Exception {
        assertEquals(Optional.empty(), directory().note());
        assertEquals(Optional.empty(), directory().born());
        assertEquals(Optional.empty(), directory().exit());
    }

    @Test
    void anIdentityIsTheProcessesOwnLineAndTheBoot() throws Exception {
        Files.writeString(directory().identityFile(), FakeProc.line(7, "sh", "R", 6, 6, 1, 4711) + "\nboot\n");

        assertEquals(
                Optional.of(new Born(new ProcessIdentity(7, 4711, "boot"), 6)),
                directory().born());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "7 (sh) R",
                "7 (sh) R 6\n\n",
                "\nboot\n",
                "7 (sh) R 6 6 6 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 9\nbo"
            })
    void anIdentityThatIsNotCompleteIsNone(String text) throws Exception {
        Files.writeString(directory().identityFile(), text);

        assertEquals(Optional.empty(), directory().born());
    }

    @ParameterizedTest
    @CsvSource({
        "0,,EXITED",
        "127,,EXITED",
        "128,,EXITED",
        "129,1,SIGNALED",
        "137,9,SIGNALED",
        "192,64,SIGNALED",
        "193,,EXITED",
        "255,,EXITED"
    })
    void aShellSays128AndTheSignal(int status, @Nullable Integer signal, Exit.Reason reason) throws Exception {
        Files.writeString(directory().exitFile(), status + " 12.34 99.00\n");

        LaunchDirectory.Recorded recorded = directory().exit().orElseThrow();
        assertEquals(
                new Exit(
                        status,
                        signal,
                        reason,
                        Files.getLastModifiedTime(directory().exitFile()).toInstant()),
                recorded.exit());
        assertEquals(1234, recorded.ticks());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\n", "3", "3 12.3"})
    void anExitThatIsNotCompleteIsNone(String text) throws Exception {
        Files.writeString(directory().exitFile(), text);

        assertEquals(Optional.empty(), directory().exit());
    }

    @Test
    void anExitThatIsNoneIsAnError() throws Exception {
        Files.writeString(directory().exitFile(), "three 12.34\n");

        assertThrows(IOException.class, directory()::exit);
    }
}
