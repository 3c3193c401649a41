package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Main is process 100, started at tick 5000; others' processes have numbers from 500. */
class ProcessTreeTest {
    private static final ProcessIdentity MAIN = new ProcessIdentity(100, 5000, FakeProc.BOOT);
    private static final String MARK = LaunchMarks.LAUNCH + "=l1";

    @TempDir
    Path root;

    private FakeProc proc;
    private Layout layout;
    private Launches launches;
    private Instance instance;

    @BeforeEach
    void setUp() throws Exception {
        proc = new FakeProc(root.resolve("proc"));
        layout = new Layout(root.resolve("state"), root.resolve("run"), "i");
        launches = new Launches(layout);
        instance = launches.noted(Launches.instance("l1"), FakeProc.BOOT);
        proc.process(1, 0, 1, 0).process(500, 1, 500, 100).process(501, 500, 500, 7000);
    }

    private ProcessTree tree(@Nullable ProcessIdentity main) {
        return new ProcessTree(
                proc.procFs, layout, instance, main, new LimitObserver(CgroupLayout.NONE), ProcessTree.Extent.TREE);
    }

    private ProcessTree alone(@Nullable ProcessIdentity main) throws Exception {
        LimitObserver groups = new LimitObserver(CgroupLayout.detect(root, root.resolve("no-proc"), "homeostat"));
        return new ProcessTree(proc.procFs, layout, instance, main, groups, ProcessTree.Extent.MAIN);
    }

    private ProcessTree grouped(String pids) throws Exception {
        Files.writeString(root.resolve("cgroup.controllers"), "memory\n");
        Path group = Files.createDirectories(root.resolve("homeostat.slice/plugin-ops-agent"));
        Files.writeString(group.resolve("cgroup.procs"), pids);
        LimitObserver groups = new LimitObserver(CgroupLayout.detect(root, root.resolve("no-proc"), "homeostat"));
        return new ProcessTree(proc.procFs, layout, instance, MAIN, groups, ProcessTree.Extent.TREE);
    }

    @Test
    void whatHasLeftEveryOtherTraceIsFoundByItsGroup() throws Exception {
        proc.process(110, 1, 110, 5100);
        assertMembers(List.of(), tree(MAIN));
        assertMembers(List.of(110L), grouped("110\n7777\n"));
    }

    @Test
    void inTheGroupsWhatAnotherLaunchHasStartedBelongsToThat() throws Exception {
        String mark = LaunchMarks.LAUNCH + "=l2";
        proc.process(200, 199, 200, 5050, mark).process(201, 200, 201, 5051, mark);
        proc.process(202, 201, 202, 5052, mark).process(203, 1, 200, 5053, mark);
        // Whoever wants this to survive has given it the mark of a launch elsewhere.
        proc.process(110, 1, 110, 5100, mark).process(111, 1, 111, 5100, LaunchMarks.LAUNCH + "=../l2");
        String all = "110\n111\n200\n201\n202\n203\n";
        assertMembers(List.of(110L, 111L, 200L, 201L, 202L, 203L), grouped(all));

        Launches former = new Launches(layout.of("former"));
        Instance other = former.noted(Launches.instance(WorkloadId.process("web"), "l2"), FakeProc.BOOT);
        assertMembers(List.of(110L, 111L, 200L, 201L, 202L, 203L), grouped(all));
        former.born(other, 200, 5050, FakeProc.BOOT);
        assertMembers(List.of(110L, 111L), grouped(all));

        proc.process(200, 1, 200, 9000, mark);
        assertMembers(List.of(110L, 111L, 200L, 201L, 202L, 203L), grouped(all));
    }

    /** As after a backup was restored: what was launched since has a keeper, and no note. */
    @Test
    void whatAKeeperHasLaunchedIsItsLaunchsThoughNobodyKnowsThat() throws Exception {
        String mark = LaunchMarks.LAUNCH + "=l2";
        proc.process(198, 1, 198, 5049, LaunchMarks.KEEPER + "=l3")
                .process(199, 1, 199, 5049, LaunchMarks.KEEPER + "=l2");
        proc.process(200, 199, 200, 5050, mark).process(201, 200, 201, 5051, mark);
        proc.process(202, 198, 202, 5052, mark);
        assertMembers(List.of(202L), grouped("200\n201\n202\n"));
    }

    @Test
    void aProcessThatKeepsItsMemoryMayBelongToALaunchOfItsUser() throws Exception {
        proc = new FakeProc(root.resolve("proc"), Duration.ofMillis(300));
        proc.process(110, 1, 110, 5100).silent(110);
        ProcessTree tree = tree(MAIN);

        assertMembers(List.of(), tree);

        assertEquals(
                "user " + Account.ourUid()
                        + " keeps us from reading the memory of a process that may belong to it and waits"
                        + " for a file system in user space; kill -9 110, and if that does not end it, the program of"
                        + " that file system",
                assertThrows(IOException.class, tree::checkKnown).getMessage());
    }

    /** Of another user, older than the launch, in the control groups or outside, or below a keeper, and so another launch's. */
    @Test
    void whoKeepsItsMemoryIsNoRiddleWhereSomethingElseTellsWhoseItIs() throws Exception {
        proc = new FakeProc(root.resolve("proc"), Duration.ofMillis(300));
        int other = Account.ourUid() + 1;
        proc.process(110, 1, 110, 5100).silent(110).ids(110, other, other);
        proc.process(111, 1, 111, 4000).silent(111);
        proc.process(198, 1, 198, 5049, LaunchMarks.KEEPER + "=l2");
        proc.process(200, 198, 200, 5050)
                .silent(200)
                .process(201, 200, 201, 5051)
                .silent(201);
        ProcessTree tree = tree(MAIN);
        assertMembers(List.of(), tree);
        tree.checkKnown();

        proc.process(100, 1, 100, 5000, MARK).process(120, 100, 120, 5100).silent(120);
        assertMembers(List.of(100L, 120L), tree);
        tree.checkKnown();

        proc.process(112, 1, 112, 5100).silent(112).process(113, 1, 113, 5100).silent(113);
        ProcessTree grouped = grouped("100\n112\n200\n");
        assertMembers(List.of(100L, 112L, 120L), grouped);
        grouped.checkKnown();
    }

    @Test
    void whatIsKnownOfAnOldProcessIsKnownThoughItKeepsItsMemoryNow() throws Exception {
        proc = new FakeProc(root.resolve("proc"), Duration.ofMillis(300));
        proc.process(110, 1, 110, 5100, MARK).process(111, 1, 111, 5100, "A=b");
        ProcessTree tree = tree(MAIN);
        assertMembers(List.of(110L), tree);

        proc.silent(110).silent(111);

        ProcessTree fresh = tree(MAIN);
        assertMembers(List.of(110L), fresh);
        fresh.checkKnown();
    }

    @Test
    void ofTheLaunchesOfOneWorkloadTheMarkTells() throws Exception {
        proc.process(110, 1, 110, 5100, LaunchMarks.LAUNCH + "=l2");
        Instance other = launches.noted(Launches.instance("l2"), FakeProc.BOOT);
        launches.born(other, 200, 5050, FakeProc.BOOT);
        assertMembers(List.of(), grouped("110\n"));

        launches.born(other, 200, 5050, "boot-before");
        assertMembers(List.of(110L), grouped("110\n"));
    }

    @Test
    void theMarkOfAnotherUsersProcessTellsNothing() throws Exception {
        int other = Account.ourUid() + 1;
        proc.process(110, 1, 110, 5100, MARK).ids(110, other, other);
        proc.process(111, 1, 111, 5100, MARK).ids(111, other, Account.ourUid());
        proc.process(112, 1, 112, 5100, MARK).ids(112, Account.ourUid(), other);

        assertMembers(List.of(112L), tree(MAIN));
    }

    @Test
    void noGroupOfAnotherBootIsLookedAt() throws Exception {
        proc.process(110, 1, 110, 5100);
        ProcessTree tree = grouped("110\n");
        proc.write("sys/kernel/random/boot_id", "boot-next\n");
        assertMembers(List.of(), tree);
    }

    private static void assertMembers(List<Long> expected, ProcessTree tree) throws Exception {
        assertEquals(
                expected, tree.members().stream().map(ProcFs.Stat::pid).sorted().toList());
    }

    @Test
    void theMainProcessAndItsDescendantsBelongToIt() throws Exception {
        proc.process(100, 99, 100, 5000).process(101, 100, 100, 5001).process(102, 101, 102, 5002);
        proc.process(103, 102, 102, 5003);

        assertMembers(List.of(100L, 101L, 102L, 103L), tree(MAIN));
    }

    @Test
    void neitherTheKeeperNorAnybodyElseBelongsToIt() throws Exception {
        proc.process(99, 1, 99, 4999, LaunchMarks.KEEPER + "=l1").process(100, 99, 100, 5000);
        proc.process(502, 1, 502, 5001, LaunchMarks.LAUNCH + "=l11");

        assertMembers(List.of(100L), tree(MAIN));
    }

    @Test
    void ofWhatIsLaunchedAloneNothingElseBelongsToIt() throws Exception {
        proc.process(100, 99, 100, 5000, MARK)
                .process(101, 100, 100, 5001, MARK)
                .process(102, 101, 102, 5002);
        proc.process(110, 1, 110, 5100, MARK);
        grouped("100\n101\n110\n");

        assertMembers(List.of(100L), alone(MAIN));
        assertMembers(List.of(), alone(null));
    }

    @Test
    void norDoesItWhenThatHasEnded() throws Exception {
        ProcessTree tree = alone(MAIN);
        proc.process(100, 99, 100, 5000).process(101, 100, 100, 5001, MARK);
        assertMembers(List.of(100L), tree);

        launches.exited(instance, 0, "60.00");
        proc.process(100, "Z", 99, 100, 1, 5000);
        assertMembers(List.of(), tree);
        proc.end(100).process(101, 1, 100, 5001, MARK);
        assertMembers(List.of(), tree);
        proc.process(100, 1, 100, 9000);
        assertMembers(List.of(), tree);
        proc.process(100, 99, 100, 5000);
        assertMembers(List.of(), alone(new ProcessIdentity(100, 5000, "boot-before")));
    }

    @Test
    void aDaemonThatLeftSessionAndParentIsFoundByItsMark() throws Exception {
        proc.process(110, 1, 110, 5100, MARK).process(111, 110, 110, 5101);

        assertMembers(List.of(110L, 111L), tree(MAIN));
        assertMembers(List.of(110L, 111L), tree(null));
    }

    @Test
    void anEnvironmentWithoutTheMarkIsNotReadAgainWhenItsProcessIsOld() throws Exception {
        proc.uptime("61.01");
        proc.process(110, 1, 110, 5100, "PATH=/bin").process(111, 1, 111, 5100, LaunchMarks.LAUNCH + "=l2");
        proc.process(112, 1, 112, 5101, "PATH=/bin");
        assertMembers(List.of(), tree(MAIN));

        proc.process(110, 1, 110, 5100, MARK).process(111, 1, 111, 5100, MARK).process(112, 1, 112, 5101, MARK);
        assertMembers(List.of(112L), tree(MAIN));
        // The main process itself may be executing the shells that come before its program.
        assertMembers(List.of(110L, 111L, 112L), tree(null));
    }

    @Test
    void anEnvironmentThatTellsNothingYetIsReadAgain() throws Exception {
        proc.process(110, 1, 110, 5100).process(111, 1, 111, 5100).unreadable("111/environ");
        proc.process(112, 1, 112, 5100);
        proc.write("112/environ", "PATH=/bin\0HOMEOSTAT_LAU");
        assertMembers(List.of(), tree(MAIN));

        proc.end(111).process(110, 1, 110, 5100, MARK).process(111, 1, 111, 5100, MARK);
        proc.process(112, 1, 112, 5100, MARK);
        assertMembers(List.of(110L, 111L, 112L), tree(MAIN));
    }

    @Test
    void anEnvironmentLongerThanAnyHasNoMarkAndNoneIsAwaited() throws Exception {
        proc.end(501).process(110, 1, 110, 5100, MARK).endless("110/environ");
        ProcessTree tree = tree(MAIN);

        assertMembers(List.of(), tree);
        assertFalse(tree.mayHide());
    }

    @Test
    void whatNoLongerRunsIsForgotten() throws Exception {
        proc.process(110, 1, 110, 5100, "PATH=/bin");
        tree(MAIN).members();
        assertEquals(1, proc.procFs.marksSeen());

        proc.end(110);
        tree(MAIN).members();
        assertEquals(0, proc.procFs.marksSeen());
    }

    @Test
    void whoHasTheNumberOfAProcessWithoutTheMarkIsReadAnew() throws Exception {
        proc.process(110, 1, 110, 5100, "PATH=/bin");
        assertMembers(List.of(), tree(MAIN));

        proc.process(110, 1, 110, 5200, MARK);
        assertMembers(List.of(110L), tree(MAIN));
    }

    @Test
    void aMarkIsReadAgainBeforeItCountsAgain() throws Exception {
        proc.process(110, 1, 110, 5100, MARK);
        assertMembers(List.of(110L), tree(MAIN));

        proc.process(110, 1, 110, 5100, LaunchMarks.LAUNCH + "=l2");
        assertMembers(List.of(), tree(MAIN));
    }

    @Test
    void anotherProcessWithTheNumberOfTheMainOneIsNotOurs() throws Exception {
        proc.process(100, 1, 100, 9000).process(101, 100, 100, 9001);

        assertMembers(List.of(), tree(MAIN));
    }

    @Test
    void whoWasInTheSessionBeforeTheMainProcessEndedMakesSureOfAllThatAreInItNow() throws Exception {
        launches.exited(instance, 0, "60.00");
        proc.process(110, 1, 100, 5999).process(111, 1, 100, 6500);

        assertMembers(List.of(110L, 111L), tree(MAIN));
    }

    @Test
    void aSessionWithTheSameNumberThatBeganLaterIsNotOurs() throws Exception {
        launches.exited(instance, 0, "60.00");
        proc.process(110, 1, 100, 6000).process(111, 1, 100, 6500);

        assertMembers(List.of(), tree(MAIN));
    }

    @Test
    void aSessionAloneIsNoProofWhenNobodyRecordedTheEnd() throws Exception {
        proc.process(110, 1, 100, 5500);

        assertMembers(List.of(), tree(MAIN));
    }

    @Test
    void aMarkedProcessInTheSessionMakesSureOfTheOthersInIt() throws Exception {
        proc.process(110, 1, 100, 5500, MARK).process(111, 1, 100, 6500);

        assertMembers(List.of(110L, 111L), tree(MAIN));
    }

    @Test
    void whoWasOnceSeenToBelongToItStaysKnownWhenNothingTellsAnyMore() throws Exception {
        proc.process(100, 99, 100, 5000).process(101, 100, 101, 5001);
        ProcessTree tree = tree(MAIN);
        assertMembers(List.of(100L, 101L), tree);

        proc.end(100).process(101, 1, 101, 5001);
        assertMembers(List.of(101L), tree);
        assertMembers(List.of(), tree(MAIN));

        proc.process(101, 1, 101, 8000);
        assertMembers(List.of(), tree);
    }

    @Test
    void aZombieIsNoMember() throws Exception {
        proc.process(100, "Z", 99, 100, 1, 5000, MARK);

        assertMembers(List.of(), tree(MAIN));
    }

    @Test
    void theAgentItselfIsNoMemberWhoeverStartedIt() throws Exception {
        long self = ProcessHandle.current().pid();
        proc.process(100, 99, 100, 5000).process(self, 100, 100, 5001, MARK);
        List<Long> expected = self == 100 ? List.of() : List.of(100L);

        assertMembers(expected, tree(MAIN));
    }

    @Test
    void nothingSurvivesAReboot() throws Exception {
        proc.process(100, 99, 100, 5000, MARK);

        assertMembers(List.of(), tree(new ProcessIdentity(100, 5000, "boot-before")));
    }
}
