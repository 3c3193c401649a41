package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.Pace;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.ProcFs.Stat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProcFsTest {
    @TempDir
    Path root;

    private FakeProc proc;

    @BeforeEach
    void setUp() throws Exception {
        proc = new FakeProc(root);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"sh", "a b", "(sd-pam)", ") S 1 1 (", "x) Z 9 9 9", "", "tab\there", "\u00fc\u00e4", "new\nline"
            })
    void aProgramsNameCanBeAnything(String name) throws Exception {
        proc.line(7, FakeProc.line(7, name, "R", 3, 5, 2, 4711));

        assertEquals(Optional.of(new Stat(7, name, 'R', 3, 5, 5 + 6, 7 + 8, 2, 4711, 169)), proc.procFs.stat(7));
    }

    @Test
    void aProcessThatIsNotThereIsEmptyAndNoError() throws Exception {
        assertEquals(Optional.empty(), proc.procFs.stat(7));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "7 sh S 1", "7 (sh) S 1 2 3", "x (sh) S 1 5 5 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 4711 1"})
    void aLineThatIsNotTheKernelsIsAnErrorThatQuotesIt(String line) throws Exception {
        proc.line(7, line);

        IOException e = assertThrows(IOException.class, () -> proc.procFs.stat(7));
        assertEquals(root.resolve("7/stat") + " is not what proc_pid_stat(5) describes: " + line, e.getMessage());
    }

    @Test
    void aProcessThatCanNotBeReadIsAnErrorAndNotAnAbsence() throws Exception {
        proc.unreadable("7/stat");

        assertThrows(IOException.class, () -> proc.procFs.stat(7));
        assertThrows(IOException.class, proc.procFs::processes);
    }

    @Test
    void aZombieDoesNotRunUnlessOtherThreadsOfItDo() throws Exception {
        proc.process(1, "Z", 0, 1, 1, 10).process(2, "Z", 0, 2, 3, 20).process(3, "X", 0, 3, 1, 30);
        proc.process(4, "D", 0, 4, 1, 40).process(5, "T", 0, 5, 1, 50);

        assertEquals(
                List.of(2L, 4L, 5L),
                proc.procFs.processes().stream().map(Stat::pid).sorted().toList());
    }

    @Test
    void aProcessIsTheOneThatIsMeantOnlyWhenNumberStartAndBootAgree() throws Exception {
        proc.process(7, 1, 7, 4711);

        assertTrue(proc.procFs.runs(new ProcessIdentity(7, 4711, FakeProc.BOOT)));
        assertFalse(proc.procFs.runs(new ProcessIdentity(7, 4712, FakeProc.BOOT)));
        assertFalse(proc.procFs.runs(new ProcessIdentity(8, 4711, FakeProc.BOOT)));
        assertFalse(proc.procFs.runs(new ProcessIdentity(7, 4711, "boot-before")));
    }

    @Test
    void aMarkIsAWholeVariableWithAWholeValue() throws Exception {
        proc.process(7, 1, 7, 1, "A=1", "MARK=abc", "B=MARK=xyz").process(8, 1, 8, 1);

        assertTrue(proc.procFs.carries(7, "MARK", "abc"));
        assertTrue(proc.procFs.carries(7, "A", "1"));
        assertFalse(proc.procFs.carries(7, "MARK", "ab"));
        assertFalse(proc.procFs.carries(7, "MARK", "abcd"));
        assertFalse(proc.procFs.carries(7, "ARK", "abc"));
        assertFalse(proc.procFs.carries(7, "MARK", "xyz"));
        assertFalse(proc.procFs.carries(8, "MARK", "abc"));
        assertFalse(proc.procFs.carries(9, "MARK", "abc"));
    }

    @Test
    void onlyAProcessOfOursIsAKeeper() throws Exception {
        proc.process(7, 1, 7, 1, LaunchMarks.KEEPER + "=l1");
        proc.process(8, 1, 8, 1, LaunchMarks.KEEPER + "=l1").ids(8, Account.ourUid() + 1, Account.ourUid());

        assertTrue(proc.procFs.keeps(7, "l1"));
        assertFalse(proc.procFs.keeps(7, "l2"));
        assertFalse(proc.procFs.keeps(8, "l1"));
        assertFalse(proc.procFs.keeps(9, "l1"));
    }

    @Test
    void anEnvironmentOfAnyLengthIsReadAsAWhole() throws Exception {
        proc.process(7, 1, 7, 1, "LONG=" + "x".repeat(100_000), "MARK=abc");

        assertTrue(proc.procFs.carries(7, "MARK", "abc"));
    }

    @Test
    void aMarkIsFoundWhereverItIs() throws Exception {
        for (int before = 4070; before < 4110; before++) {
            proc.process(7, 1, 7, 1, "LONG=" + "x".repeat(before), "MARK=abc", "MARK=xyz");

            assertEquals(Optional.of("abc"), proc.procFs.variable(7, "MARK"), before + " bytes before it");
        }
    }

    /** As a process shows it whose user wants us to read it to its end. */
    @Test
    void anEnvironmentLongerThanAnyHasNoMark() throws Exception {
        proc.process(7, 1, 7, 1, "MARK=abc").endless("7/environ");

        assertEquals(Optional.empty(), proc.procFs.variable(7, "MARK"));
    }

    @Test
    void noValueIsKeptThatIsLongerThanAnyOfOurs() throws Exception {
        proc.process(7, 1, 7, 1, "MARK=" + "x".repeat(4096), LaunchMarks.LAUNCH + "=" + "x".repeat(255));
        proc.process(8, 1, 8, 1, "MARK=" + "x".repeat(4097), LaunchMarks.LAUNCH + "=" + "x".repeat(256));

        assertTrue(proc.procFs.variable(7, "MARK").isPresent());
        assertTrue(proc.procFs.launch(7).isPresent());
        assertFalse(proc.procFs.variable(8, "MARK").isPresent());
        assertFalse(proc.procFs.launch(8).isPresent());
    }

    @Test
    void aFileLongerThanAnyOfItsKindIsAnErrorThatNamesIt() throws Exception {
        proc.process(7, 1, 7, 1).endless("7/stat");

        IOException e = assertThrows(IOException.class, () -> proc.procFs.stat(7));
        assertEquals(root.resolve("7/stat") + ": it is longer than any such file should be", e.getMessage());
    }

    @Test
    void ageAndBootComeFromTheKernelsCount() throws Exception {
        proc.uptime("1000.25");

        assertEquals(Duration.ofMillis(250), proc.procFs.age(100_000));
        assertEquals(Duration.ZERO, proc.procFs.age(200_000));
        assertEquals(Instant.ofEpochSecond(1_700_000_000), proc.procFs.bootTime());
        assertEquals(FakeProc.BOOT, proc.procFs.bootId());
    }

    @Test
    void eachStartOfAContainerIsABootOfItsOwn() throws Exception {
        proc.line(1, FakeProc.line(1, "init", "S", 0, 1, 1, 815));
        assertEquals(FakeProc.BOOT, proc.procFs.bootId(), "a machine");
        assertEquals(FakeProc.BOOT + "/815", inContainer().bootId());

        proc.line(1, FakeProc.line(1, "init", "S", 0, 1, 1, 4711));
        assertEquals(FakeProc.BOOT + "/4711", inContainer().bootId());
        assertEquals(FakeProc.BOOT, inContainer().kernelBootId());
    }

    @Test
    void aSignalIsHandledByWhoeverCatchesOrBlocksIt() throws Exception {
        proc.line(7, FakeProc.line(7, "sh", "S", 3, 5, 2, 4711));
        Files.writeString(
                root.resolve("7/status"),
                "Name:\tsh\nSigBlk:\t0000000000000200\nSigIgn:\t0000000000000002\nSigCgt:\t0000000000000001\n");

        assertTrue(proc.procFs.handles(7, 1), "caught");
        assertTrue(proc.procFs.handles(7, 10), "blocked");
        assertFalse(proc.procFs.handles(7, 2), "ignored");
        assertFalse(proc.procFs.handles(7, 12), "left to its default");
        assertFalse(proc.procFs.handles(8, 1), "gone");
    }

    @Test
    void thisMachineIsRead() throws Exception {
        ProcFs real = new ProcFs();
        long self = ProcessHandle.current().pid();
        Stat stat = real.stat(self).orElseThrow();

        assertTrue(real.runs(new ProcessIdentity(self, stat.startTicks(), real.bootId())));
        assertEquals(ProcessHandle.current().parent().orElseThrow().pid(), stat.parent());
        assertTrue(real.processes().stream().anyMatch(process -> process.pid() == self));
        Duration age = real.age(stat.startTicks());
        Duration known =
                Duration.between(ProcessHandle.current().info().startInstant().orElseThrow(), Instant.now());
        assertTrue(age.minus(known).abs().compareTo(Duration.ofSeconds(5)) < 0, age + " and " + known);
    }

    private ProcFs inContainer() {
        return new ProcFs(root, new Pace(), true, new ProcessMemory(ProcessMemory.PATIENCE));
    }
}
