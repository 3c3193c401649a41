package io.homeostat.reconcile.runtime.task;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.driver.TaskEventReader.Told;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.runtime.Machine;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whose events are taken for those of which task. */
class DriverEventsTest {
    private static final WorkloadId WEB = new WorkloadId(Kind.TASK, "web");

    /** Its directory has another name. */
    private static final WorkloadId ALLOC = new WorkloadId(Kind.TASK, "alloc");

    @TempDir
    Path root;

    private Optional<WorkloadId> task(String driver, String taskId, String allocation, String task, Phase phase) {
        Machine machine = new Machine(layout(), new ProcFs(), Clock.systemUTC(), id -> {
            boolean known = id.equals(WEB) || id.equals(ALLOC);
            return known ? ImmutableList.of(launch(id, phase)) : ImmutableList.of();
        });
        DriverEvents events = new DriverEvents(machine, new Tasks(machine));
        return events.task(new Told(driver, taskId, allocation, task, "words")).map(Instance::workload);
    }

    private Layout layout() {
        return new Layout(root.resolve("s"), root.resolve("r"), "i");
    }

    private static Instance launch(WorkloadId id, Phase phase) {
        return new Instance(
                "0123456789abcdef",
                id,
                "target",
                "7",
                null,
                ImmutableSortedMap.of(),
                Instant.EPOCH,
                new Identity.Task("runner", "known", "aGFuZGxl", null, null),
                phase,
                "");
    }

    private String allocation(WorkloadId id) {
        return String.valueOf(layout().allocation(id).getFileName());
    }

    @Test
    void anEventIsThatOfTheLaunchThatItNames() {
        String allocation = allocation(WEB);
        String id = allocation + "/web/01234567";

        assertEquals(Optional.of(WEB), task("runner", id, allocation, "web", Phase.STARTED));
        assertEquals(Optional.of(WEB), task("runner", id, "", "", Phase.STARTED));
        assertEquals(Optional.of(WEB), task("runner", "", allocation, "web", Phase.STARTED));
        String other = allocation(ALLOC) + "/task-alloc/01234567";
        assertEquals(Optional.of(ALLOC), task("runner", other, "", "task-alloc", Phase.STARTED));
    }

    @Test
    void whatIsNotKnownOrOverOrAnotherDriversIsNobodys() {
        String allocation = allocation(WEB);
        String id = allocation + "/web/01234567";

        assertEquals(Optional.empty(), task("runner", allocation + "/web/76543210", allocation, "web", Phase.STARTED));
        assertEquals(Optional.empty(), task("runner", "", "another", "web", Phase.STARTED));
        assertEquals(Optional.empty(), task("runner", "", "", "", Phase.STARTED));
        assertEquals(Optional.empty(), task("runner", id, allocation, "other", Phase.STARTED));
        assertEquals(Optional.empty(), task("runner", "a/../b", "", "", Phase.STARTED));
        assertEquals(Optional.empty(), task("docker", id, allocation, "web", Phase.STARTED));
        assertEquals(Optional.empty(), task("runner", id, allocation, "web", Phase.ENDED));
    }
}
