package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.desired.model.Probe;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.health.ProbeHealth;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.PortOwners;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Environment and locale are a process's, so each agent here is a process of its own. */
class InheritedEnvironmentTest {
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
    void nothingOfOurEnvironmentReachesAProgram() throws Exception {
        Path program = bed.program("p", "exec /usr/bin/env");
        Instance instance = bed.instance(TestBed.PROCESS, Instant.now());
        bed.adopt(instance);
        List<String> prefix = ImmutableList.of(
                "env",
                "MY_CLOUD_TOKEN=open-sesame",
                "LC_ALL=C.UTF-8",
                "LANG=C",
                "PATH=/nowhere:" + System.getenv("PATH"),
                "HOME=/nowhere",
                "USER=somebody",
                "LOGNAME=somebody",
                "SHELL=/nowhere/sh",
                "NOTIFY_SOCKET=/nowhere/notify",
                "HOMEOSTAT_WORKLOAD=process/parent",
                "LD_LIBRARY_PATH=/nowhere");
        try (LaunchingJvm agent = LaunchingJvm.start(prefix, root, instance.launchId(), program, "")) {
            String answer = String.valueOf(agent.answer());
            assertTrue(answer.contains("ProcessIdentity"), answer);
            bed.ended(instance);
        }

        Account ours = Account.ours();
        assertEquals(
                ImmutableSortedMap.<String, String>naturalOrder()
                        .put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
                        .put("HOME", ours.home())
                        .put("USER", ours.name())
                        .put("LOGNAME", ours.name())
                        .put("SHELL", ours.shell())
                        .put("LANG", "C.UTF-8")
                        .put(LaunchMarks.LAUNCH, instance.launchId())
                        .put(LaunchMarks.WORKLOAD, "process/node-exporter")
                        .buildOrThrow()
                        .toString(),
                environment(bed.log(TestBed.PROCESS)));
    }

    @Test
    void noSignalIsIgnoredBecauseWeIgnoreIt() throws Exception {
        Path program = bed.program("p", "exec grep SigIgn /proc/self/status");
        Instance instance = bed.instance(TestBed.PROCESS, Instant.now());
        bed.adopt(instance);
        List<String> prefix = ImmutableList.of("env", "--ignore-signal=INT,HUP,USR1", "LC_ALL=C.UTF-8");
        try (LaunchingJvm agent = LaunchingJvm.start(prefix, root, instance.launchId(), program, "")) {
            String answer = String.valueOf(agent.answer());
            assertTrue(answer.contains("ProcessIdentity"), answer);
            bed.ended(instance);
        }

        String log = bed.log(TestBed.PROCESS);
        assertTrue(log.startsWith("SigIgn:"), log);
        // Those above have no names and belong to the C library.
        assertEquals(0, Long.parseUnsignedLong(log.substring("SigIgn:".length()).strip(), 16) & 0x7FFF_FFFFL, log);
    }

    @Test
    void itIsNotNiceBecauseWeAreWhereThatMayBeChanged() throws Exception {
        Process trial = new ProcessBuilder("nice", "-n", "5", "sh", "-c", "exec nice -n \"-$(nice)\" nice")
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        String possible = new String(trial.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Path program = bed.program("p", "exec /usr/bin/nice");
        Instance instance = bed.instance(TestBed.PROCESS, Instant.now());
        bed.adopt(instance);
        List<String> prefix = ImmutableList.of("nice", "-n", "5");
        try (LaunchingJvm agent = LaunchingJvm.start(prefix, root, instance.launchId(), program, "")) {
            String answer = String.valueOf(agent.answer());
            assertTrue(answer.contains("ProcessIdentity"), answer);
            bed.ended(instance);
        }

        assertEquals(possible, bed.log(TestBed.PROCESS));
    }

    /** Without what shells add. */
    private static String environment(String lines) {
        return lines.lines()
                .filter(line -> !line.matches("(PWD|OLDPWD|SHLVL|_)=.*"))
                .collect(ImmutableSortedMap.toImmutableSortedMap(
                        Comparator.naturalOrder(),
                        line -> line.substring(0, line.indexOf('=')),
                        line -> line.substring(line.indexOf('=') + 1)))
                .toString();
    }

    @Test
    void whatTheLocaleCanNotWriteIsRefusedInsteadOfChanged() throws Exception {
        String said = agent("launch", "LC_ALL=C");

        String why = " has characters that can't be passed on in this locale";
        assertTrue(said.contains("argument 1" + why), said);
        assertTrue(said.contains("the environment variable COFFEE" + why), said);
        assertFalse(said.contains("caf"), said);
        assertEquals("", bed.log(TestBed.PROCESS));
    }

    @Test
    void nothingOfOurEnvironmentReachesAProbe() throws Exception {
        String said = agent("probe", "MY_CLOUD_TOKEN=open-sesame", "LC_ALL=C.UTF-8");

        assertEquals("HEALTHY\n", said);
    }

    @Test
    void aProbeIsSearchedOnTheSystemBeforeOurPath() throws Exception {
        Path ours = Files.createDirectory(root.resolve("ours"));
        Path shell = Files.writeString(ours.resolve("sh"), "#!/bin/sh\nexit 1\n");
        assertTrue(shell.toFile().setExecutable(true));

        assertEquals("HEALTHY\n", agent("probe", "LC_ALL=C.UTF-8", "PATH=" + ours + ":" + System.getenv("PATH")));
    }

    private String agent(String what, String... variables) throws Exception {
        List<String> command = ImmutableList.<String>builder()
                .add("env")
                .add(variables)
                .add(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Xlog:disable",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        InheritedEnvironmentTest.class.getName(),
                        root.toString(),
                        what)
                .build();
        Process agent = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        String said = new String(agent.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, agent.waitFor(), said);
        return said;
    }

    public static void main(String[] arguments) throws Exception {
        TestBed bed = new TestBed(Path.of(arguments[0]));
        if (arguments[1].equals("probe")) {
            ImmutableList<String> command =
                    ImmutableList.of("sh", "-c", "[ -z \"${MY_CLOUD_TOKEN-}${LC_ALL-}\" ] && [ -d \"$HOME\" ]");
            try (ProbeHealth probes = new ProbeHealth(
                    InstantSource.system(),
                    new PortOwners(bed.layout, bed.procFs, new LimitObserver(CgroupLayout.NONE)))) {
                Probe probe = new Probe(null, null, new Probe.Exec(command), null);
                System.out.println(probes.ask(probe, Duration.ofSeconds(30)).verdict());
            }
            return;
        }
        attempt(bed, ImmutableList.of("gr\u00fcn"), ImmutableMap.of());
        attempt(bed, ImmutableList.of(), ImmutableMap.of("COFFEE", "caf\u00e9"));
    }

    private static void attempt(TestBed bed, ImmutableList<String> words, ImmutableMap<String, String> env)
            throws Exception {
        try {
            bed.launcher.launch(
                    new LaunchRequest(bed.instance(TestBed.PROCESS), Path.of("/bin/true"), words, env, null),
                    CgroupPlan.NONE);
        } catch (ActuationFailure e) {
            System.out.println(e.getMessage());
        }
    }
}
