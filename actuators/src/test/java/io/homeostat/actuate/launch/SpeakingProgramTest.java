package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.Observation;
import io.homeostat.observe.goplugin.Handshake;
import io.homeostat.observe.process.Account;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a protocol can have for the programs of its kind. */
class SpeakingProgramTest {
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

    private Instance ended(boolean speaks, CgroupPlan groups, String... lines) throws Exception {
        ProcessProtocol protocol = new ProcessProtocol() {
            @Override
            public Preparation prepare(Instance instance, @Nullable Account account) {
                return new Preparation(
                        ImmutableList.of("--of-the-protocol"),
                        ImmutableMap.of("SHARED", "of the protocol", "ADDED", "too"),
                        ImmutableSet.of("WITHHELD", "NOT_DECLARED"),
                        speaks);
            }
        };
        Instance instance = bed.instance(TestBed.PROCESS);
        bed.adopt(instance);
        LaunchRequest request = new LaunchRequest(
                instance,
                bed.program("p", lines),
                ImmutableList.of("--declared"),
                ImmutableMap.of("SHARED", "declared", "WITHHELD", "declared", "KEPT", "declared"),
                null);
        Instance launched = instance.withIdentity(
                new Launcher(bed.layout, bed.procFs, protocol, bed.keepers).launch(request, groups));
        bed.ended(launched);
        return launched;
    }

    private List<String> output(Instance instance) throws Exception {
        return Files.readAllLines(bed.directory(instance).outputFile());
    }

    @Test
    void whatItPrintsIsForUsAndItsErrorsAreInItsLog() throws Exception {
        Instance instance = ended(true, CgroupPlan.NONE, "echo out", "echo err >&2", "echo more");

        assertEquals(List.of("out", "more"), output(instance));
        assertEquals("err\n", bed.log(TestBed.PROCESS));
    }

    @Test
    void allOfItIsInItsLogWhenItDoesNotSpeak() throws Exception {
        Instance instance = ended(false, CgroupPlan.NONE, "echo out", "echo err >&2");

        assertEquals(List.of(), output(instance));
        assertEquals("out\nerr\n", bed.log(TestBed.PROCESS));
    }

    @Test
    void theProtocolsVariablesWinAndThoseThatItWithholdsAreNotThere() throws Exception {
        Instance instance = ended(true, CgroupPlan.NONE, "env");

        List<String> env = output(instance);
        assertTrue(env.contains("SHARED=of the protocol"), env.toString());
        assertTrue(env.contains("ADDED=too"), env.toString());
        assertTrue(env.contains("KEPT=declared"), env.toString());
        assertTrue(env.contains("HOMEOSTAT_LAUNCH_ID=" + instance.launchId()), env.toString());
        assertFalse(env.stream().anyMatch(line -> line.startsWith("WITHHELD=")), env.toString());
        assertEquals(1, env.stream().filter(line -> line.startsWith("SHARED=")).count());
    }

    @Test
    void itsArgumentsFollowTheDeclaredOnes() throws Exception {
        assertEquals(
                List.of("--declared", "--of-the-protocol"),
                output(ended(true, CgroupPlan.NONE, "printf '%s\\n' \"$@\"")));
    }

    @Test
    void whatTheShellSaysThatLaunchesItIsNotTakenForItsFirstLine() throws Exception {
        CgroupPlan missing = new CgroupPlan(
                Optional.empty(),
                ImmutableList.of(root.resolve("missing/cgroup.procs")),
                new LimitResult.Enforced(),
                false,
                Observation.unseen("no control groups are used"));

        Instance instance = ended(true, missing, "echo '1|2|unix|/tmp/plugin1|grpc|'");

        assertEquals(2, output(instance).size());
        assertEquals(
                Optional.of("1|2|unix|/tmp/plugin1|grpc|"),
                Handshake.line(bed.directory(instance).outputFile()));
    }
}
