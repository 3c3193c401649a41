package io.homeostat.reconcile.agent.nomad;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.TaskState;
import io.homeostat.proto.nomad.driver.TaskStatus;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.command.output.Json;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Base64;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A task that was started, by this instance of the driver or a former one. */
final class DrivenTask {
    private static final int VERSION = 1;

    private final TaskConfig config;
    private final TaskSettings settings;
    private final Instant startedAt;
    private final CompletableFuture<Ending> end = new CompletableFuture<>();
    private volatile WorkloadLook last;

    /** @param config with its configuration for this driver */
    DrivenTask(TaskConfig config, TaskSettings settings, Instant startedAt, WorkloadLook last) {
        this.config = config;
        this.settings = settings;
        this.startedAt = startedAt;
        this.last = last;
    }

    /**
     * The task of a handle. That it still lives has yet to be seen.
     *
     * @param look how it is now, of the workload with that id
     * @throws IllegalArgumentException when this driver has not made it
     */
    static DrivenTask recovered(TaskHandle handle, WorkloadLook look) {
        State state = State.of(handle);
        TaskConfig config = handle.getConfig().toBuilder()
                .setMsgpackDriverConfig(state.config())
                .build();
        return new DrivenTask(config, TaskSettings.read(state.config()), state.startedAt(), look);
    }

    /** The workload of the task of a handle; throws as {@link #recovered}. */
    static WorkloadId workload(TaskHandle handle) {
        return TaskDocument.workload(
                handle.getConfig(), TaskSettings.read(State.of(handle).config()).plugin());
    }

    /** What the handle says: after a restart of the client its configuration lacks what was meant for this driver. */
    private record State(Instant startedAt, ByteString config) {
        static State of(TaskHandle handle) {
            try {
                JsonNode json =
                        new ObjectMapper().readTree(handle.getDriverState().toByteArray());
                if (json.path("version").asInt() != VERSION) {
                    throw new IllegalArgumentException(
                            "the handle is of another version of this driver, or of another one");
                }
                return new State(
                        Instant.parse(json.path("startedAt").asText()),
                        ByteString.copyFrom(
                                Base64.getDecoder().decode(json.path("config").asText())));
            } catch (IOException | DateTimeException e) {
                throw new IllegalArgumentException("the handle is not of this driver: " + e.getMessage(), e);
            }
        }

        ByteString bytes() {
            return ByteString.copyFromUtf8(Json.object()
                    .put("version", VERSION)
                    .put("startedAt", startedAt.toString())
                    .put("config", Base64.getEncoder().encodeToString(config.toByteArray()))
                    .toString());
        }
    }

    TaskHandle handle() {
        return TaskHandle.newBuilder()
                .setVersion(VERSION)
                .setConfig(config)
                .setState(TaskState.RUNNING)
                .setDriverState(new State(startedAt, config.getMsgpackDriverConfig()).bytes())
                .build();
    }

    TaskConfig config() {
        return config;
    }

    TaskSettings settings() {
        return settings;
    }

    WorkloadId workload() {
        return last.workload();
    }

    WorkloadLook last() {
        return last;
    }

    void seen(WorkloadLook look) {
        last = look;
    }

    /** Whoever waits for it and gives up leaves the task alone. */
    CompletableFuture<Ending> end() {
        return end.copy();
    }

    boolean hasEnded() {
        return end.isDone();
    }

    /** True the first time. */
    boolean ended(Ending ending) {
        return end.complete(ending);
    }

    TaskStatus status() {
        TaskStatus.Builder status = TaskStatus.newBuilder()
                .setId(config.getId())
                .setName(config.getName())
                .setState(TaskState.RUNNING)
                .setStartedAt(timestamp(startedAt));
        @Nullable Ending ending = end.getNow(null);
        if (ending != null) {
            status.setState(TaskState.EXITED)
                    .setCompletedAt(timestamp(ending.at()))
                    .setResult(ending.result());
        }
        return status.build();
    }

    static Timestamp timestamp(Instant time) {
        return Timestamp.newBuilder()
                .setSeconds(time.getEpochSecond())
                .setNanos(time.getNano())
                .build();
    }
}
