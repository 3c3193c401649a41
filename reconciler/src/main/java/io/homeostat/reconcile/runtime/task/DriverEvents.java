package io.homeostat.reconcile.runtime.task;

import com.google.common.base.Splitter;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.driver.TaskEventReader.Taken;
import io.homeostat.observe.driver.TaskEventReader.Told;
import io.homeostat.reconcile.runtime.Machine;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes events of tasks of what their drivers tell. */
final class DriverEvents {
    private static final Logger LOG = LoggerFactory.getLogger(DriverEvents.class);
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");

    private final Machine machine;
    private final Tasks tasks;

    DriverEvents(Machine machine, Tasks tasks) {
        this.machine = machine;
        this.tasks = tasks;
    }

    void record() {
        for (Taken taken : machine.drivers().takeEvents()) {
            taken.told().forEach(this::record);
            if (taken.dropped() > 0) {
                record(
                        new WorkloadId(Kind.DRIVER, taken.driver()),
                        "",
                        taken.dropped() + " more events of its tasks were dropped, because there were too many");
            }
        }
    }

    private void record(Told told) {
        Optional<Instance> task = task(told);
        if (task.isEmpty()) {
            LOG.debug("[{}] told something of {}, which is not known here", told.driver(), told.taskId());
            return;
        }
        record(task.get().workload(), task.get().revision(), told.driver() + ": " + told.words());
    }

    private void record(WorkloadId id, String revision, String words) {
        machine.events()
                .accept(new Event(machine.clock().instant(), id, revision, EventType.AGENT_DRIVER_EVENT, words));
    }

    /** Only of a task that this driver runs: a driver can tell anything. */
    Optional<Instance> task(Told told) {
        List<String> parts = Splitter.on('/').splitToList(told.taskId());
        String name = told.task().isEmpty() && parts.size() > 1 ? parts.get(1) : told.task();
        // One workload has another name at its driver.
        return Stream.of(name, name.replaceFirst("^task-", ""))
                .filter(candidate -> NAME.matcher(candidate).matches())
                .map(candidate -> new WorkloadId(Kind.TASK, candidate))
                .filter(id -> tasks.place(id).task().equals(name))
                .flatMap(id -> launch(told, id))
                .findFirst();
    }

    private Stream<Instance> launch(Told told, WorkloadId id) {
        return machine.instances().apply(id).stream()
                .filter(instance -> !instance.isOver())
                .filter(instance -> told.taskId().isEmpty()
                        ? tasks.place(id).allocation().equals(told.allocation())
                        : tasks.taskId(instance).equals(told.taskId()))
                .filter(instance -> tasks.driver(instance).equals(Optional.of(told.driver())));
    }
}
