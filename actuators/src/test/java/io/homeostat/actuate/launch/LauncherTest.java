package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.ObservedInstance.Liveness;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LauncherTest {
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
    void aLaunchedProgramRunsAsTheProcessThatWasRecorded() throws Exception {
        Instance instance =
                bed.launch(TestBed.PROCESS, bed.program("p", "echo $$ > " + root + "/pid", "exec sleep 1000"));

        ProcessIdentity identity = TestBed.identity(instance);
        Path pid = root.resolve("pid");
        TestBed.soon().until(() -> Files.exists(pid) && !Files.readString(pid).isEmpty());
        assertEquals(identity.pid(), Long.parseLong(Files.readString(pid).strip()));
        Liveness.Running running = assertInstanceOf(Liveness.Running.class, bed.look(instance));
        assertEquals(identity, running.identity());
        assertTrue(running.age().toSeconds() < 60, "age " + running.age());
    }

    @Test
    void whatAProgramPrintsIsAppendedToItsLog() throws Exception {
        bed.ended(bed.launch(TestBed.PROCESS, bed.program("p", "echo out", "echo err >&2")));
        bed.ended(bed.launch(TestBed.PROCESS, bed.program("q", "echo again")));

        assertEquals("out\nerr\nagain\n", bed.log(TestBed.PROCESS));
        assertEquals(
                "rw-------",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(bed.layout.log(TestBed.PROCESS))));
    }

    @Test
    void anInterruptedLaunchIsNoFailureOfTheProgram() throws Exception {
        LaunchRequest request = new LaunchRequest(
                bed.instance(TestBed.PROCESS),
                bed.program("p", "exec sleep 1000"),
                ImmutableList.of(),
                ImmutableMap.of(),
                null);

        Thread.currentThread().interrupt();

        assertThrows(InterruptedException.class, () -> bed.launch(request));
        assertFalse(Thread.interrupted());
    }

    @Test
    void launchingTheSameLaunchAgainReturnsTheSameProcess() throws Exception {
        Path program = bed.program("p", "echo started", "exec sleep 1000");
        LaunchRequest request =
                new LaunchRequest(bed.instance(TestBed.PROCESS), program, ImmutableList.of(), ImmutableMap.of(), null);
        Instance first = bed.launch(request);
        Instance second = bed.launch(request);

        assertEquals(first.identity(), second.identity());
        TestBed.soon().until(() -> bed.log(TestBed.PROCESS).equals("started\n"));
        assertEquals(1, bed.members(first));
    }

    @Test
    void aLaunchThatSomebodyElseHasClaimedStartsNothing() throws Exception {
        Instance instance = bed.instance(TestBed.PROCESS);
        bed.directories.write(instance);
        Files.createFile(bed.directory(instance).claimFile());

        ActuationFailure failure = assertThrows(
                ActuationFailure.class,
                () -> bed.launch(new LaunchRequest(
                        instance, bed.program("p", "echo ran"), ImmutableList.of(), ImmutableMap.of(), null)));

        assertTrue(TestBed.message(failure).contains("no process came of it"), TestBed.message(failure));
        assertEquals("", bed.log(TestBed.PROCESS));
    }

    @Test
    void whatCanNotBeExecutedIsRefusedWithTheReason() throws Exception {
        Path plain = Files.writeString(root.resolve("plain"), "text");
        assertAll(
                () -> assertRefused(root.resolve("missing"), "does not exist", false),
                () -> assertRefused(root, "is not a file", false),
                () -> assertRefused(plain, "may not be executed", false),
                () -> assertRefused(Path.of("relative"), "is not an absolute path", true),
                () -> assertRefused(
                        bed.layout.install(TestBed.PROCESS, "x").resolve("bin/missing"), "does not exist", true));
        assertFalse(Files.exists(bed.layout.launches(TestBed.PROCESS)));
    }

    private void assertRefused(Path executable, String words, boolean fatal) {
        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> bed.launch(TestBed.PROCESS, executable));
        assertTrue(TestBed.message(failure).contains(words), TestBed.message(failure));
        assertEquals(fatal, failure.fatal());
    }

    @Test
    void namesAndValuesThatNoProgramCanBeGivenAreRefused() throws Exception {
        Path program = bed.program("p", "exit 0");
        assertAll(
                () -> assertRefused(program, ImmutableMap.of("A-B", ""), "'A-B' is not the name"),
                () -> assertRefused(program, ImmutableMap.of("A", "secret\0"), "the environment variable A has a zero"),
                () -> assertRefused(program, ImmutableMap.of(), "argument 2 has a zero", "a", "secret\0"));
    }

    @Test
    void namesThatBelongToTheShellOrToUsAreRefused() throws Exception {
        Path program = bed.program("p", "exit 0");
        for (String name : List.of("OPTIND", "LINENO", "PPID", "UID", "BASH_VERSINFO", "_")) {
            assertRefused(program, ImmutableMap.of(name, "secret"), name + " belongs to the ");
        }
        for (String name : List.of("HOMEOSTAT_ENV_0", "homeostat_number", "HOMEOSTAT_KEEPER")) {
            assertRefused(program, ImmutableMap.of(name, "secret"), name + " is one of Homeostat's own");
        }
    }

    @Test
    void whatIsTooLongForTheSystemIsRefusedAndTheLongestArrives() throws Exception {
        Path program = bed.program("p", "echo ${#LONG} ${#1}");
        String tooLong = "secret".repeat(22_000);
        assertRefused(program, ImmutableMap.of("LONG", tooLong), "variable LONG is 132000 bytes long");
        assertRefused(program, ImmutableMap.of(), "argument 2 is 132000 bytes long", "a", tooLong);

        bed.ended(bed.launch(new LaunchRequest(
                bed.instance(TestBed.PROCESS),
                program,
                ImmutableList.of("x".repeat(131_071)),
                ImmutableMap.of("LONG", "x".repeat(131_044)),
                null)));
        assertEquals("131044 131071\n", bed.log(TestBed.PROCESS));
    }

    private void assertRefused(Path program, ImmutableMap<String, String> env, String words, String... arguments) {
        ActuationFailure failure = assertThrows(
                ActuationFailure.class,
                () -> bed.launch(new LaunchRequest(
                        bed.instance(TestBed.PROCESS), program, ImmutableList.copyOf(arguments), env, null)));
        assertTrue(TestBed.message(failure).contains(words), TestBed.message(failure));
        assertFalse(TestBed.message(failure).contains("secret"), TestBed.message(failure));
        assertTrue(failure.fatal());
    }

    @Test
    void ourNotesAreClosedToOthersAndForgottenWhole() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, bed.program("p", "exit 0"));
        bed.ended(instance);
        Path directory = bed.directory(instance).path();
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)));

        bed.directories.forget(TestBed.PROCESS, instance.launchId());
        bed.directories.forget(TestBed.PROCESS, instance.launchId());

        assertFalse(Files.exists(directory));
    }
}
