package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a program finds when it begins. */
class LaunchedProgramTest {
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
    void aLaunchedProgramHasItsOwnSessionAndOnlyItsThreeStreams() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        long pid = TestBed.pid(instance);
        bed.awaitProgram(instance, "sleep");

        assertEquals(pid, bed.procFs.stat(pid).orElseThrow().session());
        // Until it has its libraries, it opens and closes files of its own.
        TestBed.soon().untilAsserted(() -> assertEquals(List.of("0", "1", "2"), descriptors(pid)));
        assertEquals(Path.of("/dev/null"), Path.of("/proc/" + pid + "/fd/0").toRealPath());
        assertEquals(
                bed.layout.log(TestBed.PROCESS).toRealPath(),
                Path.of("/proc/" + pid + "/fd/1").toRealPath());
        assertEquals(
                bed.layout.log(TestBed.PROCESS).toRealPath(),
                Path.of("/proc/" + pid + "/fd/2").toRealPath());
        assertEquals(Path.of("/"), Path.of("/proc/" + pid + "/cwd").toRealPath());
    }

    private static List<String> descriptors(long pid) throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/" + pid + "/fd"))) {
            return all.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void aLaunchedProgramIgnoresAndBlocksNoSignal() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        long pid = TestBed.pid(instance);
        bed.awaitProgram(instance, "sleep");

        for (int signal = 1; signal < 32; signal++) {
            assertEquals(0, bed.ignores(Long.toString(pid), signal), "signal " + signal + " ignored");
        }
        assertEquals(0, bed.statusMask(Long.toString(pid), "SigBlk"), "blocked signals");
    }

    @Test
    void argumentsAndEnvironmentArriveUnchanged() throws Exception {
        List<String> odd = List.of(
                "",
                " ",
                "two words",
                "a'b\"c",
                "$(touch " + root + "/pwned)",
                "`id`",
                "line\nbreak\n",
                "\\",
                "*",
                "-n",
                "$HOME;&|<>",
                "tab\there",
                "trailing\n\n",
                "grün ☂ 𝄞",
                "\u007f\u0001");
        ImmutableMap.Builder<String, String> env = ImmutableMap.builder();
        for (int i = 0; i < odd.size(); i++) {
            env.put("ODD_" + i, odd.get(i));
        }
        env.put("PATH", "/nowhere");
        env.put("IFS", "x");
        env.put("LD_LIBRARY_PATH", "/nowhere");
        env.put("HOME", "not a directory");
        env.put("PWD", "not a directory");
        env.put("PS4", "$(touch " + root + "/pwned)");
        Path program = bed.program(
                "p",
                "printf '%s\\0' \"$@\" > " + root + "/arguments",
                "while IFS= read -r line; do :; done < /dev/null",
                "/bin/cat /proc/$$/environ > " + root + "/environment",
                "> " + root + "/done",
                "exec /bin/sleep 1000");
        bed.launch(new LaunchRequest(
                bed.instance(TestBed.PROCESS), program, ImmutableList.copyOf(odd), env.buildOrThrow(), null));
        TestBed.soon().until(() -> Files.exists(root.resolve("done")));

        assertEquals(odd, strings(root.resolve("arguments")));
        List<String> environment = strings(root.resolve("environment"));
        for (int i = 0; i < odd.size(); i++) {
            assertTrue(environment.contains("ODD_" + i + "=" + odd.get(i)), "ODD_" + i + " in " + environment);
        }
        assertTrue(environment.contains("PATH=/nowhere"));
        assertTrue(environment.contains("IFS=x"));
        assertTrue(environment.contains("HOME=not a directory"));
        assertTrue(environment.contains("PWD=not a directory"));
        assertFalse(Files.exists(root.resolve("pwned")));
    }

    @Test
    void theEnvironmentIsTheUsersWithTheDeclaredOneAndTheMarksAndNothingElse() throws Exception {
        Path program = bed.program("p", "/bin/cat /proc/$$/environ > " + root + "/e", "> " + root + "/done");
        Instance instance = bed.launch(new LaunchRequest(
                bed.instance(TestBed.PROCESS), program, ImmutableList.of(), ImmutableMap.of("FOO", "bar"), null));
        TestBed.soon().until(() -> Files.exists(root.resolve("done")));

        List<String> environment = strings(root.resolve("e"));
        List<String> names = environment.stream()
                .map(variable -> Splitter.on('=').splitToList(variable).get(0))
                .filter(name -> !List.of("PWD", "OLDPWD", "_", "SHLVL").contains(name))
                .sorted()
                .toList();
        assertEquals(
                List.of(
                        "FOO",
                        "HOME",
                        LaunchMarks.LAUNCH,
                        LaunchMarks.WORKLOAD,
                        "LANG",
                        "LOGNAME",
                        "PATH",
                        "SHELL",
                        "USER"),
                names);
        assertTrue(environment.contains(LaunchMarks.LAUNCH + "=" + instance.launchId()));
        assertTrue(environment.contains(LaunchMarks.WORKLOAD + "=process/node-exporter"));
    }

    @Test
    void itBeginsWithTheSettingsThatAreDeclared() throws Exception {
        Path directory = Files.createDirectory(root.resolve("work"));
        Path program = bed.program(
                "p",
                "umask",
                "pwd",
                "ulimit -Sn",
                "ulimit -Hn",
                "ulimit -c",
                "/usr/bin/nice",
                "/bin/cat /proc/self/oom_score_adj");
        ProcessSettings settings = new ProcessSettings(
                directory.toString(),
                "027",
                null,
                null,
                19,
                900,
                ImmutableSortedMap.of("core", "0", "nofile", "100:200"));

        bed.ended(bed.launch(new LaunchRequest(
                bed.instance(TestBed.PROCESS), program, ImmutableList.of(), ImmutableMap.of(), null, settings)));

        assertEquals(
                List.of("0027", directory.toString(), "100", "200", "0", "19", "900"),
                bed.log(TestBed.PROCESS).lines().toList());
    }

    @Test
    void aCommandForItIsNamedFromItsDirectory() throws Exception {
        Path directory = Files.createDirectory(root.resolve("work"));
        Path done = root.resolve("done");
        Files.createSymbolicLink(directory.resolve("reload"), Path.of("/bin/sh"));
        LaunchRequest program = new LaunchRequest(
                bed.instance(TestBed.PROCESS),
                bed.program("p", "exit 0"),
                ImmutableList.of(),
                ImmutableMap.of(),
                null,
                new ProcessSettings(directory.toString(), null, null, null, null, null, null));

        new ProgramCommand(
                        program,
                        new Probe.Exec(ImmutableList.of("./reload", "-c", "echo done > '" + done + "'")),
                        ImmutableList.of())
                .run(Duration.ofMinutes(1));

        assertEquals("done\n", Files.readString(done));
    }

    @Test
    void aWorkingDirectoryThatIsNotThereIsNamedBeforeAnythingRuns() throws Exception {
        Path program = bed.program("p", "exit 0");
        ProcessSettings settings =
                new ProcessSettings(root.resolve("gone").toString(), null, null, null, null, null, null);

        ActuationFailure failure = assertThrows(
                ActuationFailure.class,
                () -> bed.launch(new LaunchRequest(
                        bed.instance(TestBed.PROCESS),
                        program,
                        ImmutableList.of(),
                        ImmutableMap.of(),
                        null,
                        settings)));

        assertTrue(
                TestBed.message(failure).contains("spec.workingDirectory " + root.resolve("gone") + " is no directory"),
                TestBed.message(failure));
        assertFalse(failure.fatal());
    }

    private static List<String> strings(Path file) throws Exception {
        List<String> parts = Splitter.on('\0').splitToList(Files.readString(file));
        return parts.subList(0, parts.size() - 1);
    }
}
