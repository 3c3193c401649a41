package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.TestBed;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How a launch ends, and that it is known whoever has ended meanwhile. */
class KeeperTest {
    @TempDir
    Path root;

    private TestBed bed;

    @BeforeEach
    void setUp() {
        bed = new TestBed(root);
    }

    @AfterEach
    void tearDown() throws Exception {
        bed.close();
    }

    @Test
    void anExitStatusIsKnownAfterwards() throws Exception {
        assertAll(
                () -> assertEnd(0, null, Exit.Reason.EXITED, "exit 0"),
                () -> assertEnd(3, null, Exit.Reason.EXITED, "exit 3"),
                () -> assertEnd(255, null, Exit.Reason.EXITED, "exit 255"),
                () -> assertEnd(137, 9, Exit.Reason.SIGNALED, "kill -9 $$"),
                () -> assertEnd(143, 15, Exit.Reason.SIGNALED, "kill -TERM $$"),
                () -> assertEnd(129, 1, Exit.Reason.SIGNALED, "kill -HUP $$"));
    }

    private void assertEnd(int code, @Nullable Integer signal, Exit.Reason reason, String script) throws Exception {
        Exit exit = bed.ended(bed.launch(TestBed.PROCESS, bed.program("p" + code, script)))
                .exit();
        assertEquals(new Exit(code, signal, reason, exit.at()), exit, script);
    }

    @Test
    void aProgramCanBeInterruptedFromTheKeyboardAlthoughItRunsInTheBackground() throws Exception {
        // Whoever runs the tests may ignore these two; then so do we, and what we start.
        Assumptions.assumeTrue(bed.ignores("self", 2) == 0 && bed.ignores("self", 3) == 0);
        assertAll(
                () -> assertEnd(130, 2, Exit.Reason.SIGNALED, "kill -INT $$"),
                () -> assertEnd(131, 3, Exit.Reason.SIGNALED, "ulimit -c 0; kill -QUIT $$"));
    }

    @Test
    void aFileThatIsNoProgramEndsWithTheShellsStatusAndSaysWhyInTheLog() throws Exception {
        Path program = bed.program("p");
        Files.writeString(program, "#!/usr/bin/env no-such-program\n");

        Instance instance = bed.launch(TestBed.PROCESS, program);

        assertTrue(List.of(126, 127).contains(bed.ended(instance).exit().code()));
        assertTrue(bed.log(TestBed.PROCESS).contains("no-such-program"), bed.log(TestBed.PROCESS));
    }

    @Test
    void theKeeperIsOneReadableLineInAListOfProcesses() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        long keeper = bed.directory(instance).born().orElseThrow().keeper();

        String line = Files.readString(Path.of("/proc/" + keeper + "/cmdline")).replace('\0', ' ');

        String paths = bed.directory(instance).path() + "" + bed.layout.log(TestBed.PROCESS);
        // A few more where the build itself is nice.
        assertTrue(line.length() < 230 + paths.length(), line);
        assertFalse(line.contains("\n"), line);
        assertTrue(bed.procFs.carries(keeper, LaunchMarks.KEEPER, instance.launchId()));
    }

    @Test
    void aKeeperDoesNotStayInTheTableOfProcesses() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        long keeper = bed.directory(instance).born().orElseThrow().keeper();
        TestBed.signal("KILL", TestBed.pid(instance));
        bed.ended(instance);
        TestBed.soon()
                .until(() -> bed.procFs.stat(keeper).map(stat -> !stat.alive()).orElse(false));

        bed.keepers.collect();

        assertFalse(Files.exists(Path.of("/proc/" + keeper)));
    }

    @Test
    void aSignalToTheKeeperDoesNotEndIt() throws Exception {
        Path go = root.resolve("go");
        Instance instance = bed.launch(
                TestBed.PROCESS, bed.program("p", "while [ ! -e " + go + " ]; do sleep 0.02; done", "exit 5"));
        long keeper = bed.directory(instance).born().orElseThrow().keeper();
        for (String signal : List.of("TERM", "HUP", "INT", "QUIT", "USR1", "TERM")) {
            TestBed.signal(signal, keeper);
        }
        assertInstanceOf(Liveness.Running.class, bed.look(instance));
        Files.createFile(go);

        assertEquals(5, bed.ended(instance).exit().code());
    }

    @Test
    void whatEndedWhileItsKeeperWasGoneIsOverWithAnUnknownStatus() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        long keeper = bed.directory(instance).born().orElseThrow().keeper();

        TestBed.signal("KILL", keeper);
        assertInstanceOf(Liveness.Running.class, bed.look(instance));
        TestBed.signal("KILL", TestBed.pid(instance));

        Exit exit = bed.ended(instance).exit();
        assertEquals(new Exit(null, null, Exit.Reason.UNKNOWN, exit.at()), exit);
    }

    @Test
    void aProcessThatNobodyHasCollectedYetIsOver() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        long keeper = bed.directory(instance).born().orElseThrow().keeper();
        TestBed.signal("STOP", keeper);
        try {
            TestBed.soon().until(() -> bed.procFs.stat(keeper).orElseThrow().state() == 'T');
            TestBed.signal("KILL", TestBed.pid(instance));
            TestBed.soon()
                    .until(() ->
                            bed.procFs.stat(TestBed.pid(instance)).orElseThrow().state() == 'Z');

            Liveness.Ended early = assertInstanceOf(Liveness.Ended.class, bed.look(instance));
            assertEquals(Exit.Reason.UNKNOWN, early.exit().reason());
        } finally {
            TestBed.signal("CONT", keeper);
        }

        assertEquals(9, bed.ended(instance).exit().signal());
    }

    @Test
    void aLaunchSurvivesTheAgentThatIsKilledInTheMiddleOfIt() throws Exception {
        Path go = root.resolve("go");
        Path program = bed.program("p", "while [ ! -e " + go + " ]; do sleep 0.02; done", "exit 7");
        Instance promised = bed.instance(TestBed.PROCESS);
        bed.adopt(promised);
        try (LaunchingJvm agent = LaunchingJvm.start(root, promised.launchId(), program)) {
            TestBed.soon().until(() -> Files.exists(bed.directory(promised).claimFile()));
            agent.kill();
        }

        // Only the machine remembers it.
        TestBed.soon()
                .until(
                        () -> bed.found(),
                        processes -> processes.size() == 1 && processes.get(0).liveness() instanceof Liveness.Running);
        ObservedInstance found = bed.found().get(0);
        assertEquals(promised.launchId(), found.instance().launchId());
        assertFalse(found.remembered());
        assertInstanceOf(Liveness.Running.class, bed.look(promised));

        Files.createFile(go);
        assertEquals(7, bed.ended(promised).exit().code());
    }
}
