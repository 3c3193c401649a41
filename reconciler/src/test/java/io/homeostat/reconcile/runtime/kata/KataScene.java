package io.homeostat.reconcile.runtime.kata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Iterables;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.launch.LaunchDirectories;
import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.desired.state.history.FailureCause;
import io.homeostat.observe.InstanceObserver;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.UnknownLaunches;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.runtime.Machine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.function.Executable;

/** A machine with one guest in memory, and what is remembered of the sandbox and the containers in it. */
final class KataScene implements AutoCloseable {
    static final String ENDPOINT = "unix:///run/guest.sock";
    static final String BOOT = "boot-1";
    static final Instant BOOTED = Instant.ofEpochSecond(1_700_000_000);
    static final Instant START = Instant.parse("2026-11-20T12:00:00Z");
    static final WorkloadId GUEST = new WorkloadId(Kind.SANDBOX, "guest");
    static final WorkloadId APP = new WorkloadId(Kind.CONTAINER, "app");
    static final String SANDBOX_LAUNCH = "s-1";
    static final String APP_LAUNCH = "c-1";
    static final Lifecycle.Stop STOP = new Lifecycle.Stop(Duration.ofSeconds(20));

    private final Layout layout;
    private final ProcFs procFs;
    private final MemoryGuest guest = new MemoryGuest();
    private final FakeTiming timing = new FakeTiming();
    private final Map<WorkloadId, ImmutableList<Instance>> remembered = new ConcurrentHashMap<>();
    private final List<AutoCloseable> opened = new CopyOnWriteArrayList<>();
    private volatile Instant now = START;

    KataScene(Path root) throws IOException {
        layout = new Layout(root.resolve("state"), root.resolve("run"), "test");
        Path proc = root.resolve("proc");
        Files.createDirectories(proc.resolve("sys/kernel/random"));
        Files.writeString(proc.resolve("sys/kernel/random/boot_id"), BOOT + "\n");
        Files.writeString(proc.resolve("stat"), "cpu 1 2 3\nbtime " + BOOTED.getEpochSecond() + "\n");
        procFs = new ProcFs(proc);
        Files.createDirectories(layout.stateDir());
    }

    Layout layout() {
        return layout;
    }

    MemoryGuest guest() {
        return guest;
    }

    MemoryAgent agent() {
        return guest.agent();
    }

    FakeTiming timing() {
        return timing;
    }

    Instant now() {
        return now;
    }

    void setNow(Instant time) {
        now = time;
    }

    LaunchDirectories launches() {
        return new LaunchDirectories(layout, procFs);
    }

    SandboxNotes sandboxNotes() {
        return new SandboxNotes(layout);
    }

    ContainerNotes containerNotes() {
        return new ContainerNotes(layout);
    }

    /** The machine as an agent of ours sees it. */
    Machine machine() {
        return new Machine(layout, procFs, this::now, this::remembered);
    }

    /** The machine as a command sees it that changes nothing. */
    Machine machineToLookAt() {
        return Machine.toLookAt(layout, procFs, UnknownLaunches.none(layout, procFs), this::now, this::remembered);
    }

    Guests guests(Machine machine, Kind kind) {
        return closed(new Guests(machine, kind, timer -> (endpoint, timeout) -> guest.dial(endpoint), timing));
    }

    Containers containers(Machine machine) {
        return closed(new Containers(machine, guests(machine, Kind.CONTAINER)));
    }

    /** Has something be closed with this. */
    <T extends AutoCloseable> T closed(T closeable) {
        opened.add(closeable);
        return closeable;
    }

    private ImmutableList<Instance> remembered(WorkloadId id) {
        return remembered.getOrDefault(id, ImmutableList.of());
    }

    /** Stores an instance in place of what was stored of its launch. */
    Instance remember(Instance instance) {
        List<Instance> all = new ArrayList<>(remembered(instance.workload()));
        all.removeIf(one -> one.launchId().equals(instance.launchId()));
        all.add(instance);
        remembered.put(instance.workload(), ImmutableList.copyOf(all));
        return instance;
    }

    void forget(WorkloadId id) {
        remembered.remove(id);
    }

    /** A sandbox as it is declared, with further fields of its spec. */
    static Workload sandbox(String... fields) {
        return declared("Sandbox", "guest", "endpoint: \"" + ENDPOINT + "\"", fields);
    }

    static Workload container(String... fields) {
        return containerNamed("app", fields);
    }

    static Workload containerNamed(String name, String... fields) {
        return declared("Container", name, "{sandbox: guest, rootfs: {path: /rootfs}, command: [serve]}", fields);
    }

    /** A container whose root file system is the archive that it is installed from. */
    static Workload containerOfArchive(String... fields) {
        return declared(
                "Container",
                "app",
                "{sandbox: guest, revision: \"1\", command: [serve], source: {url: \"https://example.org/app.tar.gz\","
                        + " sha256: \"" + "0".repeat(64) + "\"}}",
                fields);
    }

    private static Workload declared(String kind, String name, String spec, String... fields) {
        String all = spec.startsWith("{") ? spec.substring(1, spec.length() - 1) : spec;
        return Written.workload("apiVersion: homeostat.io/v1\nkind: " + kind + "\nmetadata: {name: " + name
                + "}\nspec: {" + all + (fields.length == 0 ? "" : ", " + String.join(", ", fields)) + "}\n");
    }

    Step.Launch launchStep(Workload declared, @Nullable String parent) {
        return new Step.Launch(declared, "target", null, parent);
    }

    /** An instance as it is stored before it is created. */
    Instance intended(Workload declared, String launchId) {
        boolean isPart = declared.id().kind().equals(Kind.CONTAINER);
        return new Instance(
                launchId,
                declared.id(),
                "target",
                declared.revision(),
                null,
                LaunchInputs.recorded(declared, isPart ? SANDBOX_LAUNCH : null),
                now,
                null,
                Phase.INTENDED,
                "");
    }

    static Identity.Sandbox sandboxIdentity(long scrapes) {
        return new Identity.Sandbox(ENDPOINT, scrapes, true, BOOT);
    }

    static Identity.Container containerIdentity(boolean started) {
        return new Identity.Container(ENDPOINT, APP_LAUNCH, started, BOOT);
    }

    /** A launch as it is stored and noted, whatever is in the guest. */
    Instance launched(Workload declared, String launchId, Identity identity) throws ActuationFailure {
        Instance instance = intended(declared, launchId).withIdentity(identity).withPhase(Phase.STARTED, "");
        launches().write(instance);
        return remember(instance);
    }

    /** The sandbox of the guest, which runs. */
    Instance runningSandbox() throws ActuationFailure {
        agent().haveSandbox(true);
        return launched(sandbox(), SANDBOX_LAUNCH, sandboxIdentity(0));
    }

    /** A container that runs in the guest, with all that is noted of it. */
    Instance runningContainer(Workload declared) throws ActuationFailure {
        ContainerSpec spec = (ContainerSpec) declared.spec();
        MemoryContainer made = new MemoryContainer(OciSpecs.request(APP_LAUNCH, spec, "/rootfs", false));
        made.start();
        made.pause(spec.container().frozen());
        agent().containers().put(APP_LAUNCH, made);
        Instance instance = launched(declared, APP_LAUNCH, containerIdentity(true));
        containerNotes().writeGiven(instance, spec.inPlace());
        containerNotes().writeProcess(instance, OciSpecs.process(spec.container()));
        return instance;
    }

    /** The container that runs in the guest. */
    MemoryContainer app() {
        return agent().container(APP_LAUNCH);
    }

    Path file(Instance instance, String name) {
        return layout.launch(instance.workload(), instance.launchId()).resolve(name);
    }

    boolean isMarked(Instance instance, String name) {
        return Files.exists(file(instance, name));
    }

    /** Whether the launch was marked as one that was stopped. */
    boolean isEnded(Instance instance) {
        return isMarked(instance, "ended");
    }

    void mark(Instance instance, String name) throws ActuationFailure {
        LaunchDirectories.mark(file(instance, name), instance);
    }

    /** Makes a file of a launch one that can be neither read nor replaced, whoever tries. */
    void block(Instance instance, String name) throws IOException {
        Path file = file(instance, name);
        Files.deleteIfExists(file);
        Files.createDirectories(file.resolve("in the way"));
    }

    String log(WorkloadId id) {
        try {
            return Files.exists(layout.log(id)) ? Files.readString(layout.log(id)) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What an observer sees of the only launch of a workload. */
    ObservedInstance observed(InstanceObserver observer, WorkloadId id, Checks checks) {
        Observation<ImmutableList<ObservedInstance>> seen = observer.look(id, remembered(id), checks);
        assertInstanceOf(Observation.Seen.class, seen, seen::toString);
        return Iterables.getOnlyElement(seen.orElse(ImmutableList.of()));
    }

    Liveness liveness(InstanceObserver observer, WorkloadId id, Checks checks) {
        return observed(observer, id, checks).liveness();
    }

    boolean isUnseen(InstanceObserver observer, WorkloadId id) {
        return observer.look(id, remembered(id), Checks.NONE) instanceof Observation.Unseen<?>;
    }

    static Liveness ended(Exit.Reason reason, Instant at) {
        return new Liveness.Ended(new Exit(null, null, reason, at));
    }

    static Liveness.Running running(Liveness liveness) {
        return assertInstanceOf(Liveness.Running.class, liveness);
    }

    /** The cause for which something fails. */
    static FailureCause.Kind cause(Executable fails) {
        return assertThrows(ActuationFailure.class, fails).failureCause().kind();
    }

    static void assertFails(FailureCause.Kind kind, Executable fails) {
        ActuationFailure failure = assertThrows(ActuationFailure.class, fails);
        assertEquals(kind, failure.failureCause().kind(), failure::getMessage);
        assertEquals(false, failure.fatal());
    }

    /** Waits for what other threads do, which takes moments as a rule. */
    static ConditionFactory eventually() {
        return Awaitility.await()
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(1))
                .atMost(Duration.ofSeconds(60));
    }

    @Override
    public void close() throws Exception {
        for (AutoCloseable closeable : opened) {
            closeable.close();
        }
        guest.close();
    }
}
