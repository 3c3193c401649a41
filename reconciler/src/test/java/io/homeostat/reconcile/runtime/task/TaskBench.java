package io.homeostat.reconcile.runtime.task;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.Mounts;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.limits.TaskGroups;
import io.homeostat.actuate.task.NetworkNamespaces;
import io.homeostat.actuate.task.TaskDirectories;
import io.homeostat.actuate.task.TaskPlace;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.proto.nomad.driver.TaskHandle;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.runtime.DriverMachine;
import io.homeostat.reconcile.runtime.FakeTaskDriver;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/** The task {@code web} on a {@link DriverMachine}, with control groups, mounts and a ticker that are not those of the host. */
final class TaskBench implements AutoCloseable {
    static final WorkloadId WEB = new WorkloadId(Kind.TASK, "web");
    static final String LAUNCH = "0123456789abcdef";

    /** The timeout of calls, which a busy machine may need. */
    private static final Duration LONG = Duration.ofMinutes(1);

    /** The driver's half of a handle, as it is stored. */
    static final String HANDLE = java.util.Base64.getEncoder()
            .encodeToString(TaskHandle.newBuilder()
                    .setConfig(TaskConfig.newBuilder().setId("known"))
                    .setDriverState(FakeTaskDriver.HANDLE_STATE)
                    .build()
                    .toByteArray());

    final DriverMachine host;
    final FakeTaskDriver driver;
    final Tasks tasks;
    final TaskRuntime runtime;
    final TaskPlace place;
    final LaunchDirectories launches;

    /** The mounts and unmounts, in order. */
    final List<String> mounts = new CopyOnWriteArrayList<>();

    private final AtomicLong nanos = new AtomicLong();
    private volatile FakeTaskDriver.Hook onTick = () -> {};
    private volatile long step = Duration.ofMillis(1).toNanos();

    TaskBench(Path root) throws Exception {
        host = new DriverMachine(root);
        driver = host.driver;
        tasks = new Tasks(host.machine, LONG);
        place = tasks.place(WEB);
        launches = new LaunchDirectories(host.layout, host.procFs);
        runtime = new TaskRuntime(host.machine, tasks, host(root));
    }

    private TaskRuntime.Host host(Path root) throws Exception {
        Mounts kernel = new Mounts(Files.createFile(root.resolve("mountinfo")), new NoMounts());
        return new TaskRuntime.Host(
                host.groups.cgroups(),
                new TaskGroups(host.groups.cgroups(), host.procFs, host.groups, Ticker.systemTicker()),
                new TaskDirectories(host.layout.stateDir(), new LocalDisk(), kernel, root),
                new NetworkNamespaces(kernel),
                this::tick);
    }

    private long tick() {
        try {
            onTick.run();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return nanos.addAndGet(step);
    }

    /** Does something each time before somebody looks at the ticker. */
    void onTick(FakeTaskDriver.Hook action) {
        onTick = action;
    }

    /** Lets that much time pass each time that somebody looks at the ticker. */
    void hurry(Duration each) {
        step = each.toNanos();
    }

    /** A declaration of the task. */
    static Workload web(String spec) {
        return Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Task
                metadata: {name: web}
                spec:
                  driver: runner
                """ + spec.indent(2));
    }

    static TaskSpec spec(String spec) {
        return (TaskSpec) web(spec).spec();
    }

    static Step.Launch launch(String spec) {
        return new Step.Launch(web(spec), "hash", null);
    }

    /** The launch before its driver was asked for anything. */
    static Instance intended() {
        return DriverMachine.task(WEB, LAUNCH, null);
    }

    /** Prepares and creates the launch, as a step does. */
    Identity.Task create(String spec) throws ActuationFailure, InterruptedException {
        host.remember(intended());
        return (Identity.Task) runtime.prepare(launch(spec), ImmutableSet.of()).create(intended());
    }

    String taskId() {
        return tasks.taskId(intended());
    }

    /** The launch once its driver has said that it runs. */
    Instance started() {
        return intended().withIdentity(identity(HANDLE)).withPhase(Instance.Phase.STARTED, "");
    }

    Identity.Task identity(String handle) {
        return new Identity.Task("runner", taskId(), handle, null, DriverMachine.BOOT);
    }

    /** A launch that runs: remembered, noted, known to the driver. */
    Instance running() throws ActuationFailure {
        Instance started = started();
        host.remember(started);
        launches.write(started);
        driver.run(taskId());
        return started;
    }

    @Override
    public void close() throws InterruptedException {
        host.close();
    }

    private final class NoMounts implements Mounts.Kernel {
        @Override
        public int mount(String source, String directory, String type, long flags, String options) {
            mounts.add("mount " + type);
            return 0;
        }

        @Override
        public int detach(String directory) {
            mounts.add("unmount");
            return 0;
        }

        @Override
        public int unshareNetwork() {
            mounts.add("new network");
            return 0;
        }
    }
}
