package io.homeostat.sample.driver;

import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.TaskConfig;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Map;

/** What happens to tasks, told to whoever listens at the time. */
final class TaskEvents {
    private final Clock clock;
    private final Subscribers<DriverTaskEvent> listeners = new Subscribers<>();

    TaskEvents(Clock clock) {
        this.clock = clock;
    }

    Subscribers<DriverTaskEvent> listeners() {
        return listeners;
    }

    void tell(TaskConfig task, String message, Map<String, String> annotations) {
        listeners.tell(DriverTaskEvent.newBuilder()
                .setTaskId(task.getId())
                .setAllocId(
                        task.getAllocId().isEmpty()
                                ? String.valueOf(Path.of(task.getAllocDir()).getFileName())
                                : task.getAllocId())
                .setTaskName(task.getName())
                .setTimestamp(Task.timestamp(clock.instant()))
                .setMessage(message)
                .putAllAnnotations(annotations)
                .build());
    }
}
