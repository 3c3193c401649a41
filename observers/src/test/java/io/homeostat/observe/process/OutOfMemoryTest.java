package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When an end counts as one for want of memory. */
class OutOfMemoryTest {
    private static final int KILLED = 128 + 9;

    @TempDir
    Path root;

    private FakeProc proc;
    private Layout layout;
    private Launches launches;
    private Instance instance;

    @BeforeEach
    void launchWithThreeKillsBefore() throws Exception {
        proc = new FakeProc(root.resolve("proc"));
        layout = new Layout(root.resolve("state"), root.resolve("run"), "i");
        launches = new Launches(layout);
        instance = launches.noted(Launches.instance("l1"), FakeProc.BOOT);
        launches.born(instance, 100, 5000, FakeProc.BOOT);
        before("3");
        Files.writeString(root.resolve("cgroup.controllers"), "memory\n");
        kills(4);
    }

    @Test
    void aKillThatTheKernelCountedIsWantOfMemory() throws Exception {
        assertEquals(Exit.Reason.OOM_KILLED, reason(KILLED));
    }

    @Test
    void aKillThatItDidNotCountIsNot() throws Exception {
        kills(3);
        assertEquals(Exit.Reason.SIGNALED, reason(KILLED));
    }

    @Test
    void aFailureAfterTheKernelKilledAChildIsToo() throws Exception {
        assertEquals(Exit.Reason.OOM_KILLED, reason(1));
        kills(3);
        assertEquals(Exit.Reason.EXITED, reason(1));
    }

    @Test
    void anotherEndIsNotAlthoughTheKernelKilledAChild() throws Exception {
        assertEquals(Exit.Reason.EXITED, reason(0));
        assertEquals(Exit.Reason.SIGNALED, reason(128 + 15));
    }

    @Test
    void groupsThatWereMadeAnewCountAnew() throws Exception {
        kills(1);
        assertEquals(Exit.Reason.OOM_KILLED, reason(KILLED));
        kills(0);
        assertEquals(Exit.Reason.SIGNALED, reason(KILLED));
    }

    @Test
    void withoutACountNothingIsConcluded() throws Exception {
        Files.delete(group().resolve("memory.events"));
        assertEquals(Exit.Reason.SIGNALED, reason(KILLED));
        kills(4);
        Files.delete(launches.directory(instance).oomKillsFile());
        assertEquals(Exit.Reason.SIGNALED, reason(KILLED));
    }

    @Test
    void aCountThatCanNotBeReadLeavesTheEndAsItIs() throws Exception {
        before("many");
        assertEquals(Exit.Reason.SIGNALED, reason(KILLED));
    }

    @Test
    void anEndInAnotherBootIsNotComparedWithTheCountsOfThisOne() throws Exception {
        proc.write("sys/kernel/random/boot_id", "boot-next\n");
        assertEquals(Exit.Reason.SIGNALED, reason(KILLED));
    }

    private Exit.Reason reason(int status) throws Exception {
        launches.exited(instance, status, "60.00");
        LimitObserver limits = new LimitObserver(CgroupLayout.detect(root, root.resolve("no-proc"), "homeostat"));
        ProcessObserver observer = new ProcessObserver(
                layout,
                proc.procFs,
                Instant::now,
                limits,
                ProcessTree.Extent.TREE,
                UnknownLaunches.none(layout, proc.procFs));
        var seen = assertInstanceOf(Observation.Seen.class, observer.look(Launches.ID, ImmutableList.of(instance)));
        ObservedInstance process = (ObservedInstance) Iterables.getOnlyElement((Iterable<?>) seen.value());
        return assertInstanceOf(Liveness.Ended.class, process.liveness()).exit().reason();
    }

    private Path group() throws Exception {
        return Files.createDirectories(root.resolve("homeostat.slice/plugin-ops-agent"));
    }

    private void kills(int count) throws Exception {
        Files.writeString(group().resolve("cgroup.procs"), "");
        Files.writeString(group().resolve("memory.events"), "oom_kill " + count + "\n");
    }

    private void before(String text) throws Exception {
        Files.writeString(launches.directory(instance).oomKillsFile(), text);
    }
}
