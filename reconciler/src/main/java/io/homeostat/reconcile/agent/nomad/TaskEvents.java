package io.homeostat.reconcile.agent.nomad;

import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.homeostat.proto.nomad.driver.DriverTaskEvent;
import io.homeostat.proto.nomad.driver.TaskConfig;
import java.time.InstantSource;
import java.util.LinkedHashSet;
import java.util.Set;

/** What happens to tasks, for whoever listens: each hears what happens from then on. */
final class TaskEvents {
    private final InstantSource clock;
    private final Set<ServerCallStreamObserver<DriverTaskEvent>> listeners = new LinkedHashSet<>();

    TaskEvents(InstantSource clock) {
        this.clock = clock;
    }

    /** Until it goes away. To be called while the call is being served. */
    synchronized void listen(StreamObserver<DriverTaskEvent> stream) {
        ServerCallStreamObserver<DriverTaskEvent> call = (ServerCallStreamObserver<DriverTaskEvent>) stream;
        call.setOnCancelHandler(() -> remove(call));
        listeners.add(call);
    }

    private synchronized void remove(ServerCallStreamObserver<DriverTaskEvent> call) {
        listeners.remove(call);
    }

    /** Those who read slowly miss what they have no room for: it stands in {@code homeostat events}, too. */
    synchronized void tell(TaskConfig task, String message) {
        DriverTaskEvent event = DriverTaskEvent.newBuilder()
                .setTaskId(task.getId())
                .setAllocId(task.getAllocId())
                .setTaskName(task.getName())
                .setTimestamp(DrivenTask.timestamp(clock.instant()))
                .setMessage(message)
                .build();
        listeners.stream().filter(ServerCallStreamObserver::isReady).forEach(call -> call.onNext(event));
    }
}
