package io.homeostat.reconcile.loop;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.hash.Hashing;
import io.homeostat.actuate.archive.SignatureCheck.SignaturePolicy;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.actuate.limits.GroupRemover;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.desired.state.StateStore;
import io.homeostat.desired.state.StateStore.Change;
import io.homeostat.desired.state.sqlite.StateStores;
import io.homeostat.observe.MachineObserver;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.ObservedWorkload;
import io.homeostat.observe.Observer.Checks;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.loop.MachineSteps.ArchiveRules;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import io.homeostat.reconcile.runtime.InstanceObservers;
import io.homeostat.reconcile.runtime.Machine;
import io.homeostat.reconcile.runtime.Runtimes;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Steps on the real machine, with processes that sleep. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class MachineStepsTest {
    private static final WorkloadId PROCESS = WorkloadId.process("p");
    private static final WorkloadId PLUGIN = WorkloadId.plugin("p");

    @TempDir
    Path directory;

    private Layout layout;
    private StateStore store;
    private InstanceObservers instances;
    private MachineObserver observer;
    private MachineSteps steps;
    private ArchiveRules rules = ArchiveRules.DEFAULT;

    /** Of each commit: whether there were notes on a launch already. */
    private final List<Boolean> launchedAtCommit = new ArrayList<>();

    @BeforeEach
    void open() throws IOException {
        layout = new Layout(directory.resolve("state"), Files.createDirectory(directory.resolve("run")), "i");
        StateStore real = StateStores.openForWriting(layout, Clock.systemUTC()).store();
        store = (StateStore) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {StateStore.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("commit")) {
                        launchedAtCommit.add(Files.exists(layout.launches(PROCESS)));
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        instances = new InstanceObservers(new Machine(layout, new ProcFs(), Clock.systemUTC(), store::instances));
        observer = instances.with(path -> new MetadataServer.Answer.Absent());
        Runtimes runtimes = new Runtimes(instances);
        steps = new MachineSteps(layout, store, runtimes, Clock.systemUTC(), () -> rules, id -> Progress.NONE);
    }

    @AfterEach
    void leaveNothingBehind() throws Exception {
        for (Instance instance : store.instances()) {
            steps.execute(
                    new Step.Stop(instance, Step.Stop.Cause.REMOVED, false, new Lifecycle.Stop(Duration.ofSeconds(5))),
                    look(instance.workload()));
        }
        GroupRemover groups = new GroupRemover(CgroupLayout.detect(layout));
        groups.remove(PROCESS);
        groups.remove(PLUGIN);
        steps.close();
        instances.close();
        store.close();
    }

    @Test
    void aLaunchIsStoredBeforeThereIsAProcess() {
        Instance instance = launch("entryPoint: /bin/sleep\n  arguments: ['600']");
        assertEquals(false, launchedAtCommit.getFirst());
        assertNotNull(instance.process());
        assertEquals(
                List.of(instance.launchId()),
                store.instances(PROCESS).stream().map(Instance::launchId).toList());
        ObservedInstance process = instances(PROCESS).getFirst();
        assertInstanceOf(ObservedInstance.Liveness.Running.class, process.liveness());
    }

    @Test
    void aLaunchThatFailsIsForgotten() throws IOException {
        Outcome outcome =
                steps.execute(new Step.Launch(workload("entryPoint: /nowhere/program"), "hash", null), look(PROCESS));
        Outcome.Failed failed = assertInstanceOf(Outcome.Failed.class, outcome);
        assertTrue(failed.error().contains("/nowhere/program "), failed.error());
        assertTrue(store.instances().isEmpty());
        assertEquals(List.of(), launches());
        assertEquals(ImmutableList.of(), instances(PROCESS));
    }

    /** Which may happen between a plan and its step: the next plan waits for it. */
    @Test
    void whatEndsWithItsParentIsNotLaunchedInOneThatIsGone() {
        Workload container = Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Container
                metadata: {name: app}
                spec: {sandbox: guest, rootfs: {path: /rootfs}, command: [serve]}
                """);
        Instance sandbox = new Instance(
                "parent",
                new WorkloadId(Kind.SANDBOX, "guest"),
                "hash",
                "1",
                null,
                ImmutableSortedMap.of(),
                Instant.EPOCH,
                new Identity.Sandbox("unix:///nowhere/agent.sock", 1, true, null),
                Phase.STARTED,
                "");
        Step.Launch launch = new Step.Launch(container, "hash", null, "parent");

        assertInstanceOf(Outcome.Interrupted.class, steps.execute(launch, look(container.id())));
        store.commit(Change.ofInstance(sandbox.withPhase(Phase.ENDED, "")));
        assertInstanceOf(Outcome.Interrupted.class, steps.execute(launch, look(container.id())));
        assertTrue(store.instances(container.id()).isEmpty());

        store.commit(Change.ofInstance(sandbox));
        Outcome.Failed failed = assertInstanceOf(Outcome.Failed.class, steps.execute(launch, look(container.id())));
        assertTrue(failed.error().contains("/nowhere/agent.sock"), failed.error());
    }

    @Test
    void whatIsReadOfAFileIsWhatIsWrittenDownOfIt() throws IOException {
        Path token = Files.writeString(layout.stateDir().resolveSibling("token"), "hunter2-hunter2\n");
        Instance instance =
                launch("entryPoint: /bin/sleep\n  arguments: ['600']\n  env: {TOKEN: {file: " + token + "}}");

        // First it is a shell.
        await().atMost(Duration.ofSeconds(60))
                .until(() -> Files.readString(
                                Path.of("/proc/" + pid(instance) + "/environ"), StandardCharsets.ISO_8859_1)
                        .contains("\0TOKEN=hunter2-hunter2\0"));
        assertEquals(
                Hashing.sha256()
                        .hashString("hunter2-hunter2\n", StandardCharsets.UTF_8)
                        .toString(),
                store.instances(PROCESS).getFirst().inputs().get("file " + token));
        assertFalse(Files.readString(Path.of("/proc/" + pid(instance) + "/cmdline"), StandardCharsets.ISO_8859_1)
                .contains("hunter2"));
    }

    @Test
    void aLaunchWithoutAFileIsNotWrittenDown() {
        Outcome outcome = steps.execute(
                new Step.Launch(workload("entryPoint: /bin/true\n  envFiles: [/nowhere/web.env]"), "hash", null),
                look(PROCESS));
        Outcome.Failed failed = assertInstanceOf(Outcome.Failed.class, outcome);
        assertTrue(failed.error().contains("/nowhere/web.env: "), failed.error());
        assertTrue(store.instances().isEmpty());
    }

    @Test
    void limitsThatNeedNotHoldDoNotStopALaunch() {
        assertNotNull(launch("entryPoint: /bin/sleep\n  arguments: ['600']\n  limits: {memory: 64Mi}")
                .identity());
    }

    @Test
    void stoppingEndsTheProcessAndTheNextLaunchForgetsTheLastOne() throws IOException {
        Instance first = launch("entryPoint: /bin/sleep\n  arguments: ['600']");
        stop(first);
        assertFalse(ProcessHandle.of(pid(first)).isPresent());
        assertEquals(List.of(first.launchId()), launches());
        // As the loop does once the end is stored.
        store.commit(new Change(
                PROCESS, null, false, ImmutableList.of(), ImmutableList.of(first.launchId()), ImmutableList.of()));
        Instance second = launch("entryPoint: /bin/sleep\n  arguments: ['600']");
        assertEquals(List.of(second.launchId()), launches());
    }

    @Test
    void stoppingWhatIsGoneIsDone() {
        Instance instance = launch("entryPoint: /bin/sleep\n  arguments: ['600']");
        stop(instance);
        Outcome.Done again = stop(instance);
        assertEquals("had ended already", again.note());
    }

    @Test
    void startIsNotedBeforeItIsSent() {
        // A plugin's process that listens nowhere.
        Workload plugin = plugin();
        Outcome.Done launched = assertInstanceOf(
                Outcome.Done.class, steps.execute(new Step.Launch(plugin, "hash", null), look(PLUGIN)));
        assertNotNull(launched.instance());
        Outcome outcome = steps.execute(new Step.Start(plugin, false), look(PLUGIN));
        Outcome.Failed failed = assertInstanceOf(Outcome.Failed.class, outcome);
        assertTrue(failed.error().startsWith("the plugin did not start: "), failed.error());
        assertFalse(failed.fatal());
        assertEquals(Phase.START_SENT, store.instances(PLUGIN).getFirst().phase());
    }

    @Test
    void anArchiveIsUnpackedWhileItIsDownloaded() throws Exception {
        String sum = download(noisyTar());
        replaceInCache(sum, "not read again");

        Outcome outcome = steps.execute(new Step.Unpack(PROCESS, sum, null, "1", "p_1", null), look(PROCESS));

        assertEquals(Outcome.done(), outcome);
        assertTrue(Files.exists(layout.install(PROCESS, "p_1").resolve("noise")));
    }

    @Test
    void nothingOfAnArchiveThatMayNotBeUnpackedIsUnpackedEarly() throws Exception {
        rules = new ArchiveRules(
                rules.download(), rules.unpack(), new SignaturePolicy(true, SignaturePolicy.ANYBODY.keys()));
        String sum = download(noisyTar());
        replaceInCache(sum, "read after all");
        rules = ArchiveRules.DEFAULT;

        Outcome outcome = steps.execute(new Step.Unpack(PROCESS, sum, null, "1", "p_1", null), look(PROCESS));

        assertInstanceOf(Outcome.Failed.class, outcome);
    }

    private String download(byte[] archive) throws IOException {
        String sum = Hashing.sha256().hashBytes(archive).toString();
        Path file = Files.write(directory.resolve("archive.tar"), archive);
        Source source = new Source(file.toString(), sum, Duration.ofSeconds(60), 1);
        assertEquals(Outcome.done(), steps.execute(new Step.Download(PROCESS, sum, source), look(PROCESS)));
        return sum;
    }

    /** By another file: the one before may still be read. */
    private void replaceInCache(String sum, String content) throws IOException {
        Files.delete(layout.archive(sum));
        Files.writeString(layout.archive(sum), content);
    }

    private byte[] noisyTar() throws Exception {
        byte[] noise = new byte[1_000_000];
        new Random(1).nextBytes(noise);
        Files.write(directory.resolve("noise"), noise);
        Path tar = directory.resolve("noise.tar");
        Process process = new ProcessBuilder("tar", "cf", tar.toString(), "-C", directory.toString(), "noise").start();
        assertEquals(0, process.waitFor());
        return Files.readAllBytes(tar);
    }

    @Test
    void anInterruptedStepSaysSoAndStaysInterrupted() {
        Source source = new Source("http://127.0.0.1:1/archive.tar.gz", null, Duration.ofSeconds(5), 3);
        Thread.currentThread().interrupt();
        Outcome outcome = steps.execute(new Step.Download(PROCESS, "a".repeat(64), source), look(PROCESS));
        assertInstanceOf(Outcome.Interrupted.class, outcome);
        assertTrue(Thread.interrupted());
    }

    @Test
    void aFailedVerbIsAFailedStep() {
        Source source = new Source("file:/nowhere/archive.tar.gz", null, Duration.ofSeconds(5), 1);
        Outcome outcome = steps.execute(new Step.Download(PROCESS, "a".repeat(64), source), look(PROCESS));
        Outcome.Failed failed = assertInstanceOf(Outcome.Failed.class, outcome);
        assertTrue(failed.error().contains("/nowhere/archive.tar.gz"), failed.error());
    }

    @Test
    void aWaitIsNoStepToExecute() {
        Step.Wait wait = new Step.Wait(PROCESS, Clock.systemUTC().instant(), Step.Wait.Kind.PROGRESS, "");
        assertThrows(IllegalArgumentException.class, () -> steps.execute(wait, look(PROCESS)));
    }

    private Instance launch(String spec) {
        Outcome outcome = steps.execute(new Step.Launch(workload(spec), "hash", null), look(PROCESS));
        Instance instance = assertInstanceOf(Outcome.Done.class, outcome, outcome.toString())
                .instance();
        assertNotNull(instance);
        return instance;
    }

    private Outcome.Done stop(Instance instance) {
        Outcome outcome = steps.execute(
                new Step.Stop(instance, Step.Stop.Cause.REPLACED, false, new Lifecycle.Stop(Duration.ofSeconds(5))),
                look(instance.workload()));
        return assertInstanceOf(Outcome.Done.class, outcome, outcome.toString());
    }

    private static long pid(Instance instance) {
        return Objects.requireNonNull(instance.process()).pid();
    }

    private ObservedWorkload look(WorkloadId id) {
        return observer.look(id, store.instances(id), Checks.NONE);
    }

    private ImmutableList<ObservedInstance> instances(WorkloadId id) {
        return look(id).instances() instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances)
                ? instances
                : ImmutableList.of();
    }

    private List<String> launches() throws IOException {
        if (!Files.exists(layout.launches(PROCESS))) {
            return List.of();
        }
        try (Stream<Path> notes = Files.list(layout.launches(PROCESS))) {
            return notes.map(note -> note.getFileName().toString()).toList();
        }
    }

    private static Workload workload(String spec) {
        return read("Process", spec);
    }

    private static Workload plugin() {
        return read("Plugin", "entryPoint: /bin/sh\n  arguments: ['-c', 'sleep 600']");
    }

    private static Workload read(String kind, String spec) {
        String yaml = "apiVersion: homeostat.io/v1\nkind: " + kind
                + "\nmetadata: {name: p}\nspec:\n  install: local\n  " + spec + "\n";
        return Written.workload(yaml);
    }
}
