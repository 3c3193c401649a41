package io.homeostat.reconcile.runtime;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Event;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.ProcFs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A machine on which the driver {@code runner} was set up, with a /proc of its own and a clock that stands still. The driver is a {@link
 * FakeTaskDriver}; its process is only in that /proc.
 */
public final class DriverMachine implements AutoCloseable {
    public static final WorkloadId RUNNER = new WorkloadId(Kind.DRIVER, "runner");
    public static final Instant START = Instant.parse("2026-11-20T12:00:00Z");
    public static final Instant BOOT_TIME = Instant.parse("2026-11-01T00:00:00Z");
    public static final String BOOT = "11111111-2222-3333-4444-555555555555";
    public static final String FORMER_BOOT = "66666666-7777-8888-9999-000000000000";

    /** The launch of the driver. */
    public static final String LAUNCH = "driver-launch";

    private static final long PID = 100;
    private static final long START_TICKS = 4711;

    public final Layout layout;
    public final ProcFs procFs;
    public final FakeTaskDriver driver;
    public final Machine machine;
    public final TaskControlGroups groups;

    /** The events that were recorded. */
    public final List<Event> events = new CopyOnWriteArrayList<>();

    private final Path proc;
    private final Map<WorkloadId, ImmutableList<Instance>> instances = new ConcurrentHashMap<>();
    private volatile Instant now = START;

    /** @param root of everything; short, because a socket is in it */
    public DriverMachine(Path root) throws Exception {
        layout = new Layout(root.resolve("s"), root.resolve("r"), "i");
        proc = root.resolve("proc");
        Files.createDirectories(proc.resolve("sys/kernel/random"));
        Files.writeString(proc.resolve("sys/kernel/random/boot_id"), BOOT + "\n");
        Files.writeString(proc.resolve("stat"), "btime " + BOOT_TIME.getEpochSecond() + "\n");
        Files.writeString(proc.resolve("uptime"), "1000.00 1000.00\n");
        procFs = new ProcFs(proc);
        groups = new TaskControlGroups(root.resolve("cgroup"));
        Machine quiet = new Machine(layout, procFs, () -> now, id -> instances.getOrDefault(id, ImmutableList.of()));
        machine = new Machine(
                layout,
                procFs,
                quiet.cgroups(),
                quiet.unknown(),
                quiet.clock(),
                quiet.instances(),
                quiet.launched(),
                quiet.keepers(),
                true,
                quiet.drivers(),
                quiet.logTurns(),
                events::add);
        Path socket = root.resolve("socket");
        driver = new FakeTaskDriver(socket);
        Instance launch = runner(LAUNCH);
        Files.createDirectories(layout.driverSockets(RUNNER));
        Path output = directory(launch).outputFile();
        Files.createDirectories(Objects.requireNonNull(output.getParent()));
        Files.writeString(output, FakeTaskDriver.handshake(socket));
        remember(launch);
        runProcess();
    }

    /** A launch of the driver that was set up. */
    public static Instance runner(String launchId) {
        return new Instance(
                launchId,
                RUNNER,
                "target",
                "1",
                null,
                ImmutableSortedMap.of(),
                START.minusSeconds(60),
                new ProcessIdentity(PID, START_TICKS, BOOT),
                Phase.STARTED,
                "");
    }

    /** A launch of a task that was begun when the clock starts. */
    public static Instance task(WorkloadId id, String launchId, @Nullable Identity identity) {
        return new Instance(
                launchId,
                id,
                "target",
                "1",
                null,
                ImmutableSortedMap.of(),
                START,
                identity,
                identity == null ? Phase.INTENDED : Phase.STARTED,
                "");
    }

    public Instance runner() {
        return instances.getOrDefault(RUNNER, ImmutableList.of()).getFirst();
    }

    public LaunchDirectory directory(Instance instance) {
        return new LaunchDirectory(layout.launch(instance.workload(), instance.launchId()));
    }

    /** Sets the instances that are stored of a workload. */
    public void remember(Instance... all) {
        instances.put(all[0].workload(), ImmutableList.copyOf(all));
    }

    public void forget(WorkloadId id) {
        instances.remove(id);
    }

    public void pass(java.time.Duration time) {
        now = now.plus(time);
    }

    public Instant now() {
        return now;
    }

    /** The process of the driver is gone. */
    public void endProcess() throws IOException {
        Files.delete(proc.resolve(PID + "/stat"));
        Files.deleteIfExists(proc.resolve(PID + "/status"));
        Files.delete(proc.resolve(Long.toString(PID)));
    }

    public void runProcess() throws IOException {
        Path directory = Files.createDirectories(proc.resolve(Long.toString(PID)));
        Files.writeString(
                directory.resolve("stat"),
                PID + " (runner) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + START_TICKS + " 0 0\n");
    }

    /** The process of the driver has these ids. */
    public void runProcessAs(int uid, int gid) throws IOException {
        Files.writeString(
                proc.resolve(PID + "/status"),
                "Name:\trunner\nUid:\t%1$d\t%1$d\t%1$d\t%1$d\nGid:\t%2$d\t%2$d\t%2$d\t%2$d\n".formatted(uid, gid));
    }

    @Override
    public void close() throws InterruptedException {
        machine.drivers().close();
        driver.close();
    }
}
