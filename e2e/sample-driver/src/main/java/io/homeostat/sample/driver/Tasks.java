package io.homeostat.sample.driver;

import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.proto.nomad.driver.TaskState;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Clock;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** All tasks that this process knows, by their ids. */
final class Tasks {
    private static final int HANDLE_VERSION = 1;

    private final Executor executor;
    private final TaskEvents events;
    private final Clock clock;
    private final Map<String, Task> tasks = new ConcurrentHashMap<>();
    private final Set<String> starting = new HashSet<>();

    Tasks(Executor executor, TaskEvents events, Clock clock) {
        this.executor = executor;
        this.events = events;
        this.clock = clock;
    }

    @Nullable
    Task find(String id) {
        return tasks.get(id);
    }

    Task get(String id) {
        Task task = tasks.get(id);
        if (task == null) {
            throw TaskException.notFound();
        }
        return task;
    }

    /** Throws TaskException when there is one with that id, or its command can't be run. */
    TaskHandle start(TaskConfig config, TaskOptions options, boolean isForgotten)
            throws IOException, InterruptedException {
        String id = config.getId();
        synchronized (starting) {
            if (tasks.containsKey(id) || !starting.add(id)) {
                throw new TaskException("task with ID \"" + id + "\" already started");
            }
        }
        try {
            DriverState state = executor.launch(config, options);
            if (!isForgotten) {
                keep(new Task(config, state, clock));
                events.tell(config, "Started", Map.of("pid", Long.toString(state.pid())));
                for (int i = 0; i < options.faults().number("event-flood", 0); i++) {
                    events.tell(config, "event " + i, Map.of());
                }
                if (options.faults().has("tells-password")) {
                    events.tell(config, "its password is " + config.getEnvOrDefault("PASSWORD", ""), Map.of());
                }
            }
            return TaskHandle.newBuilder()
                    .setVersion(HANDLE_VERSION)
                    .setConfig(config)
                    .setState(TaskState.RUNNING)
                    .setDriverState(state.write())
                    .build();
        } finally {
            synchronized (starting) {
                starting.remove(id);
            }
        }
    }

    /**
     * Takes up a task again. Nothing happens when it is known. One that has ended meanwhile is taken up with its end. Throws
     * TaskException when nothing is left of it.
     */
    void recover(TaskHandle handle) {
        TaskConfig config = handle.getConfig();
        DriverState state = DriverState.read(handle.getDriverState());
        synchronized (starting) {
            if (tasks.containsKey(config.getId())) {
                return;
            }
            if (!state.boot().equals(Proc.boot())) {
                throw new TaskException("the task was started before the machine was");
            }
            if (!Files.exists(state.directory().resolve("exit"))
                    && !Proc.isAlive(state.executor(), state.executorStart())) {
                throw new TaskException("the task's executor is gone, process " + state.executor());
            }
            keep(new Task(config, state, clock));
        }
    }

    private void keep(Task task) {
        tasks.put(task.config().getId(), task);
        Background.run("watch " + task.config().getId(), () -> {
            Ending ending = task.watch();
            if (ending != null) {
                events.tell(
                        task.config(),
                        ending.words(),
                        Map.of(
                                "exit_code", Integer.toString(ending.code()),
                                "signal", Integer.toString(ending.signal())));
            }
        });
    }

    /** Forgets a task and removes what it left. Throws TaskException for one that runs, unless that is forced. */
    void destroy(String id, boolean force) throws IOException, InterruptedException {
        Task task = tasks.get(id);
        if (task == null) {
            return;
        }
        if (!task.hasEnded() && !force) {
            throw new TaskException("cannot destroy a running task; stop it first, or force it");
        }
        task.kill();
        Executor.delete(task.state().directory());
        tasks.remove(id);
    }
}
