package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.Observation;
import io.homeostat.observe.process.LaunchDirectory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How a process gets into its groups; files in a directory stand for them, so that it can be tried on any machine. */
class GroupedLaunchTest {
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
    void aProcessWritesItselfIntoAllItsGroupsBeforeItBecomesTheProgram() throws Exception {
        Path one = Files.createFile(root.resolve("one"));
        Path two = Files.createFile(root.resolve("two"));
        Path program = bed.program("p", "cat " + one + " " + two, "echo \"; $# $*\"; sleep 600");

        Instance instance = launch(plan(false, one, two), program, "a b", "--");

        TestBed.soon().until(() -> bed.log(TestBed.PROCESS).contains(";"));
        assertEquals("00; 2 a b --", bed.log(TestBed.PROCESS).strip());
        LaunchDirectory notes = new LaunchDirectory(bed.layout.launch(instance.workload(), instance.launchId()));
        assertEquals(OptionalLong.of(5), notes.oomKillsBefore());
    }

    @Test
    void whoeverWaitsForTheProcessEntersAGroupOfItsOwnFirst() throws Exception {
        Path keepers = Files.createFile(root.resolve("keepers"));
        Path one = Files.createFile(root.resolve("one"));

        launch(
                withKeeper(keepers, one),
                bed.program("p", "cat " + keepers + " " + one + "; echo \"; $*\"; sleep 600"),
                "a b");

        TestBed.soon().until(() -> bed.log(TestBed.PROCESS).contains(";"));
        assertEquals("00; a b", bed.log(TestBed.PROCESS).strip());
    }

    @Test
    void whoeverWaitsForTheProcessDoesSoWithoutThatGroupToo() throws Exception {
        Path one = Files.createFile(root.resolve("one"));

        launch(withKeeper(root.resolve("nowhere/cgroup.procs"), one), bed.program("p", "cat " + one + "; sleep 600"));

        TestBed.soon().until(() -> bed.log(TestBed.PROCESS).contains("0"));
    }

    private static CgroupPlan withKeeper(Path keepers, Path... procs) {
        CgroupPlan plan = plan(false, procs);
        return new CgroupPlan(Optional.of(keepers), plan.procs(), plan.enforcement(), plan.required(), plan.oomKills());
    }

    @Test
    void whatNeedNotBeInItsGroupsRunsWithoutThem() throws Exception {
        Path lost = root.resolve("nowhere/cgroup.procs");
        Path there = Files.createFile(root.resolve("there"));

        launch(plan(false, lost, there), bed.program("p", "echo runs; sleep 600"));

        TestBed.soon().until(() -> bed.log(TestBed.PROCESS).contains("runs"));
        assertEquals("0", Files.readString(there));
    }

    @Test
    void whatMustBeInItsGroupsDoesNotRunWithoutThem() throws Exception {
        Path lost = root.resolve("nowhere/cgroup.procs");
        Path ran = root.resolve("ran");

        ActuationFailure failure =
                assertThrows(ActuationFailure.class, () -> launch(plan(true, lost), bed.program("p", "touch " + ran)));

        String message = String.valueOf(failure.getMessage());
        assertEquals(FailureCause.of(FailureCause.Kind.NO_PROCESS), failure.failureCause());

        assertTrue(message.contains(lost.toString()), message);
        assertFalse(Files.exists(ran));
    }

    private Instance launch(CgroupPlan groups, Path program, String... arguments) throws Exception {
        return bed.launch(
                new LaunchRequest(
                        bed.instance(TestBed.PROCESS),
                        program,
                        ImmutableList.copyOf(arguments),
                        ImmutableMap.of(),
                        null),
                groups);
    }

    private static CgroupPlan plan(boolean required, Path... procs) {
        return new CgroupPlan(
                Optional.empty(),
                ImmutableList.copyOf(procs),
                new LimitResult.Enforced(),
                required,
                Observation.seen(5L));
    }
}
