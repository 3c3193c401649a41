package io.homeostat.reconcile.runtime.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.Observation;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.runtime.Machine;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is asked of drivers, and what need not be. */
class TaskObserverTest {
    private static final WorkloadId WEB = new WorkloadId(Kind.TASK, "web");

    private static final Instance LAUNCH = new Instance(
            "0123456789abcdef",
            WEB,
            "target",
            "7",
            null,
            ImmutableSortedMap.of(),
            Instant.EPOCH,
            new Identity.Task("runner", "known", "aGFuZGxl", null, null),
            Phase.STARTED,
            "");

    @TempDir
    Path root;

    private Observation<?> look(ImmutableList<Instance> stored) throws Exception {
        Layout layout = new Layout(root.resolve("s"), root.resolve("r"), "i");
        Machine machine = new Machine(
                layout, new ProcFs(), Clock.systemUTC(), id -> id.equals(WEB) ? stored : ImmutableList.of());
        new LaunchDirectories(layout, machine.procFs()).write(LAUNCH);
        try (TaskObserver observer = new TaskObserver(machine, new Tasks(machine))) {
            return observer.look(WEB, ImmutableList.of(), Checks.NONE);
        }
    }

    /** Its driver may have gone by then, and who waits for it to be removed would hear that it can't be looked at. */
    @Test
    void ofWhatIsOverNobodyIsAskedWhileItIsRemoved() throws Exception {
        assertEquals(Observation.seen(ImmutableList.of()), look(ImmutableList.of(LAUNCH.withPhase(Phase.ENDED, ""))));
    }

    @Test
    void ofALaunchThatTheDatabaseHasLostItsDriverIs() throws Exception {
        assertInstanceOf(Observation.Unseen.class, look(ImmutableList.of()));
    }
}
