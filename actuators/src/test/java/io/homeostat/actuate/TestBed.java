package io.homeostat.actuate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.MoreCollectors;
import io.homeostat.actuate.launch.Keepers;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.actuate.launch.Launcher;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.launch.PluginProtocol;
import io.homeostat.actuate.launch.ProcessProtocol;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.actuate.stop.Stopper;
import io.homeostat.actuate.stop.Stopper.StopRequest;
import io.homeostat.actuate.stop.Stopper.StopResult;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.LaunchDirectory;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcFs.Stat;
import io.homeostat.observe.process.ProcessObserver;
import io.homeostat.observe.process.ProcessTree;
import io.homeostat.observe.process.ProcessTree.Extent;
import io.homeostat.observe.process.UnknownLaunches;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** A machine in a temporary directory, with real processes, none of which outlives it. */
public final class TestBed implements AutoCloseable {
    public static final WorkloadId PROCESS = WorkloadId.process("node-exporter");
    public static final WorkloadId PLUGIN = WorkloadId.plugin("ops-agent");

    public final Path root;
    public final Layout layout;
    public final ProcFs procFs = new ProcFs();
    public final PluginChannel plugins = new PluginChannel(InstantSource.system());
    public final LaunchDirectories directories;
    public final Keepers keepers = new Keepers();
    public final Launcher launcher;
    public final Stopper stopper;
    public final ProcessObserver observer;
    private final LimitObserver groups = new LimitObserver(CgroupLayout.NONE);
    private final List<Instance> launched = new ArrayList<>();
    private int launches;

    public TestBed(Path root) {
        this(root, root.resolve("run"));
    }

    public TestBed(Path root, Path run) {
        this.root = root;
        this.layout = new Layout(root.resolve("state"), run, "i-1");
        this.directories = new LaunchDirectories(layout, procFs);
        this.launcher = new Launcher(layout, procFs, ProcessProtocol.NONE, keepers);
        this.stopper = new Stopper(layout, procFs, ProcessProtocol.NONE, groups, Extent.TREE);
        this.observer = new ProcessObserver(
                layout, procFs, InstantSource.system(), groups, Extent.TREE, UnknownLaunches.none(layout, procFs));
    }

    /**
     * An executable shell script. Another process writes it, to a new file: what this one has open for writing, a process that another
     * test starts has open for a moment, too, and then it can't be executed; nor can what is being executed be written.
     */
    public Path program(String name, String... lines) throws IOException, InterruptedException {
        Path file = Files.createDirectories(root).resolve(name);
        Process install = new ProcessBuilder("install", "-m", "755", "/dev/stdin", file.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (Writer script = install.outputWriter(StandardCharsets.UTF_8)) {
            script.write("#!/bin/sh\n" + String.join("\n", lines) + "\n");
        }
        assertEquals(0, install.waitFor());
        return file;
    }

    public Instance instance(WorkloadId id) {
        return instance(id, Instant.now());
    }

    public Instance instance(WorkloadId id, Instant launchedAt) {
        launches++;
        // The whole path: whoever stops a launch ends every process that carries its id.
        return instance(id, root.toString().replace('/', '-') + "-" + launches, launchedAt);
    }

    public static Instance instance(WorkloadId id, String launchId, Instant launchedAt) {
        return new Instance(
                launchId,
                id,
                "t1",
                "r1",
                null,
                ImmutableSortedMap.of("arguments", "a1"),
                launchedAt,
                null,
                Phase.INTENDED,
                "");
    }

    public Instance launch(WorkloadId id, Path executable, String... arguments) throws Exception {
        return launch(
                new LaunchRequest(instance(id), executable, ImmutableList.copyOf(arguments), ImmutableMap.of(), null));
    }

    /** Will be stopped at the end, whoever launched it. */
    public void adopt(Instance instance) {
        launched.add(instance);
    }

    public Instance launch(LaunchRequest request) throws Exception {
        return launch(request, CgroupPlan.NONE);
    }

    public Instance launch(LaunchRequest request, CgroupPlan cgroups) throws Exception {
        launched.add(request.instance());
        Instance instance =
                request.instance().withIdentity(launcherOf(request.instance()).launch(request, cgroups));
        launched.set(launched.size() - 1, instance);
        return instance;
    }

    private Launcher launcherOf(Instance instance) {
        return isPlugin(instance)
                ? new Launcher(layout, procFs, new PluginProtocol(layout, plugins), keepers)
                : launcher;
    }

    private static boolean isPlugin(Instance instance) {
        return instance.workload().kind() == Kind.PLUGIN;
    }

    /** What is seen of a launch that is remembered, and not of others of the same workload. */
    public Liveness look(Instance instance) {
        return seen(observer.look(instance.workload(), ImmutableList.of(instance))).stream()
                .filter(ObservedInstance::remembered)
                .collect(MoreCollectors.onlyElement())
                .liveness();
    }

    /** What the machine knows of {@link #PROCESS} when nothing is remembered. */
    public ImmutableList<ObservedInstance> found() {
        return seen(observer.look(PROCESS, ImmutableList.of()));
    }

    public static ImmutableList<ObservedInstance> seen(Observation<ImmutableList<ObservedInstance>> observation) {
        return switch (observation) {
            case Observation.Seen<ImmutableList<ObservedInstance>>(ImmutableList<ObservedInstance> found) -> found;
            case Observation.Unseen<ImmutableList<ObservedInstance>>(String why) -> throw new AssertionError(why);
        };
    }

    public Liveness.Ended ended(Instance instance) {
        return (Liveness.Ended) soon().until(() -> lookAtOver(instance), Liveness.Ended.class::isInstance);
    }

    /** Observes an instance once its keeper has ended; returns Pending until then, because its exit may not be recorded yet. */
    public Liveness lookAtOver(Instance instance) throws IOException {
        boolean kept = directory(instance)
                .born()
                .filter(born -> procFs.carries(born.keeper(), LaunchMarks.KEEPER, instance.launchId()))
                .isPresent();
        return kept ? new Liveness.Pending() : look(instance);
    }

    public String log(WorkloadId id) throws IOException {
        Path log = layout.log(id);
        return Files.exists(log) ? Files.readString(log) : "";
    }

    public LaunchDirectory directory(Instance instance) {
        return directories.of(instance);
    }

    public static ProcessIdentity identity(Instance instance) {
        return Objects.requireNonNull(instance.process());
    }

    public static long pid(Instance instance) {
        return identity(instance).pid();
    }

    /** Sends a signal to a process that this test started. */
    public static void signal(String name, long pid) throws Exception {
        assertEquals(
                0,
                new ProcessBuilder("kill", "-" + name, Long.toString(pid))
                        .start()
                        .waitFor());
    }

    /** Whether a process ignores a signal: 1 or 0. */
    public long ignores(String pid, int signal) throws IOException {
        return statusMask(pid, "SigIgn") >> (signal - 1) & 1;
    }

    /** A set of signals, proc_pid_status(5). */
    public long statusMask(String pid, String name) throws IOException {
        return Files.readAllLines(Path.of("/proc", pid, "status"), StandardCharsets.ISO_8859_1).stream()
                .filter(line -> line.startsWith(name + ":"))
                .mapToLong(line ->
                        Long.parseUnsignedLong(line.substring(name.length() + 1).strip(), 16))
                .findFirst()
                .orElseThrow();
    }

    public static String message(Throwable failure) {
        return String.valueOf(failure.getMessage());
    }

    /** Waits until the shell on the way has become this program. */
    public void awaitProgram(Instance instance, String name) {
        soon().until(() -> procFs.stat(pid(instance)).orElseThrow().name().equals(name));
    }

    public void awaitFile(Path file) {
        soon().until(() -> Files.exists(file) && Files.size(file) > 0);
    }

    public StopResult stop(Instance instance, Duration timeout) throws Exception {
        return stop(instance, false, timeout);
    }

    public StopResult stop(Instance instance, boolean cleanup, Duration timeout) throws Exception {
        return stop(instance, cleanup, new Lifecycle.Stop(timeout));
    }

    public StopResult stop(Instance instance, boolean cleanup, Lifecycle.Stop how) throws Exception {
        Stopper ofKind = isPlugin(instance)
                ? new Stopper(layout, procFs, new PluginProtocol(layout, plugins), groups, Extent.TREE)
                : stopper;
        return ofKind.stop(new StopRequest(instance, cleanup, how));
    }

    public int members(Instance instance) throws IOException {
        return new ProcessTree(procFs, layout, instance, instance.process(), groups, Extent.TREE)
                .members()
                .size();
    }

    public static ConditionFactory soon() {
        return Awaitility.await().atMost(Duration.ofSeconds(30)).pollInterval(Duration.ofMillis(10));
    }

    @Override
    public void close() throws Exception {
        for (Instance instance : launched) {
            stop(instance, Duration.ofMillis(1));
        }
        plugins.close();
        for (Instance instance : launched) {
            assertEquals(0, members(instance), "processes left of " + instance.launchId());
            soon().untilAsserted(() -> assertEquals(List.of(), keepers(instance), "keepers of " + instance.launchId()));
        }
    }

    private List<Stat> keepers(Instance instance) throws IOException {
        return procFs.processes().stream()
                .filter(stat -> procFs.carries(stat.pid(), LaunchMarks.KEEPER, instance.launchId()))
                .toList();
    }
}
