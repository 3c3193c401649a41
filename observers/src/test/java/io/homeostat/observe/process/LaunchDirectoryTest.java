package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Phase;
import io.homeostat.desired.state.ProcessIdentity;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.process.LaunchDirectory.Born;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
        String text = new LaunchNote(Launches.instance("l1"), "b").toJson().replace("NOT_SENT", "MAYBE");
        Files.writeString(directory().noteFile(), text);

        assertThrows(IOException.class, directory()::note);
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
    @ValueSource(strings = {"", "7 (sh) R", "7 (sh) R 6\n\n", "\nboot\n"})
    void whatAPowerFailureLeftOfAnIdentityIsNone(String text) throws Exception {
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
    @ValueSource(strings = {"", "\n", "3"})
    void whatAPowerFailureLeftOfAnExitIsNone(String text) throws Exception {
        Files.writeString(directory().exitFile(), text);

        assertEquals(Optional.empty(), directory().exit());
    }

    @Test
    void anExitThatIsNoneIsAnError() throws Exception {
        Files.writeString(directory().exitFile(), "three 12.34\n");

        assertThrows(IOException.class, directory()::exit);
    }
}
