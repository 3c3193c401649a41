package io.homeostat.reconcile.agent.guest;

import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.Process;
import io.homeostat.proto.kata.Root;
import io.homeostat.proto.kata.Spec;
import io.homeostat.proto.kata.StartContainerRequest;
import io.homeostat.reconcile.agent.frontend.FakeAgent;
import io.homeostat.reconcile.agent.frontend.Gate;
import io.homeostat.reconcile.agent.frontend.ManualTicker;
import io.homeostat.reconcile.agent.frontend.ScriptedProcess;
import io.homeostat.reconcile.command.FrontEnd;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

/**
 * A guest without a virtual machine: its files are in one directory, its programs are functions, its agent is in memory, and its clocks stand
 * still.
 */
final class TestGuest implements AutoCloseable {
    static final String BOOT = "6f1c5a1e-0000-4000-8000-000000000001";

    /** The number of the first process of each container. */
    static final long PID = 2_000_000_123;

    private final Gate gate = new Gate();

    private final Path real;
    final Path root;
    final GuestPaths paths;
    final ManualTicker ticker = new ManualTicker();
    final FakeCommands commands = new FakeCommands(ticker, gate);
    final FakeRuntime runtime;
    final FakeAgent agent;
    final GuestSystem system;
    final AtomicReference<Instant> now = new AtomicReference<>(Instant.parse("2026-01-02T03:04:05Z"));
    /** Signals that were sent, as PID:START:NUMBER. */
    final List<String> signals = new CopyOnWriteArrayList<>();

    private boolean startsContainers = true;

    /** @param directory an empty directory, or that of another guest, of which everything but the agent goes on */
    TestGuest(Path directory) throws IOException {
        real = directory.toRealPath();
        root = real.resolve("system");
        if (!Files.exists(root)) {
            for (String file : List.of("proc/self/mountinfo", "etc/resolv.conf", "proc/stat", "proc/meminfo")) {
                write(file, "");
            }
            write("proc/sys/kernel/random/boot_id", BOOT + "\n");
        }
        Layout layout = new Layout(real.resolve("state"), real.resolve("run"), "machine");
        paths = new GuestPaths(real.resolve("state").resolve("guest"));
        agent = new FakeAgent(layout, gate);
        runtime = new FakeRuntime(paths.runtime());
        system = new GuestSystem(root, new ProcFs(root.resolve("proc")), commands, this::signal, ticker, now::get);
        install();
        agent.onDeclare(origin -> {
            if (startsContainers) {
                run(origin.substring(HostedContainers.ORIGINS.length()));
            }
        });
    }

    /** Leaves no file and nobody who writes any. */
    @Override
    public void close() throws IOException {
        gate.close();
        LocalDisk disk = new LocalDisk();
        try (Stream<Path> all = Files.list(real)) {
            for (Path one : all.toList()) {
                disk.deleteTree(one);
            }
        }
    }

    private boolean signal(long pid, long startTicks, int signal) {
        signals.add(pid + ":" + startTicks + ":" + signal);
        return true;
    }

    private void install() {
        commands.install(FakeRuntime.PROGRAM.toString(), runtime);
        commands.install("mkfifo", command -> {
            Files.createFile(Path.of(command.getLast()));
            return ScriptedProcess.ended(0, "", "");
        });
        commands.install("mount", command -> {
            Path point = Path.of(command.getLast());
            if (command.get(1).equals("--bind")) {
                // Both are one file then.
                Files.move(point, under(point));
                Files.createLink(point, Path.of(command.get(command.size() - 2)));
            }
            mounted(point);
            return ScriptedProcess.ended(0, "", "");
        });
        commands.install("umount", this::unmount);
        commands.install("unshare", command -> {
            for (String word : command) {
                if (word.startsWith("--ipc=") || word.startsWith("--uts=")) {
                    mounted(Path.of(word.substring("--ipc=".length())));
                }
            }
            return ScriptedProcess.ended(0, "", "");
        });
        for (String name : List.of("modprobe", "date", "ip", "stty")) {
            commands.install(name, command -> ScriptedProcess.ended(0, "", ""));
        }
    }

    /** The guest agent does nothing any more once it was killed. */
    KillPoint mortal() throws IOException {
        KillPoint kill = new KillPoint(real);
        commands.beforeEach(kill::check);
        agent.beforeEach(kill::check);
        return kill;
    }

    /** Writes a file of the system. */
    void write(String file, String text) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }

    private Path mountTable() {
        return root.resolve("proc/self/mountinfo");
    }

    /** Mounts something, whoever does it. */
    void mounted(Path point) throws IOException {
        Files.writeString(
                mountTable(),
                "36 35 98:0 / " + escaped(point.toString()) + " rw,noatime master:1 - ext3 /dev/root rw\n",
                StandardOpenOption.APPEND);
    }

    /** Returns the place of a file while something is mounted over it. */
    private static Path under(Path point) {
        return point.resolveSibling(point.getFileName() + ".under");
    }

    /** Does what umount(8) does. */
    ScriptedProcess unmount(List<String> command) throws IOException {
        Path point = Path.of(command.getLast());
        unmounted(point.toString());
        if (Files.exists(under(point))) {
            Files.delete(point);
            Files.move(under(point), point);
        }
        return ScriptedProcess.ended(0, "", "");
    }

    private static String escaped(String point) {
        return point.replace("\\", "\\134").replace(" ", "\\040");
    }

    private void unmounted(String point) throws IOException {
        List<String> lines = new ArrayList<>(Files.readAllLines(mountTable()));
        for (int i = lines.size() - 1; i >= 0; i--) {
            if (lines.get(i).contains(" " + escaped(point) + " ")) {
                lines.remove(i);
                break;
            }
        }
        Files.write(mountTable(), lines);
    }

    /** Returns the mount points, in the order in which they were mounted. */
    List<String> mounts() throws IOException {
        return Files.readAllLines(mountTable()).stream()
                .map(line -> List.of(line.split(" ")).get(4))
                .toList();
    }

    /** Starts the guest agent on what is there. */
    GuestMachine boot() throws IOException, InterruptedException {
        return new GuestMachine(
                paths, agent, new OciRuntime(FakeRuntime.PROGRAM, paths.runtime(), commands, ticker), system);
    }

    /** Starts the guest agent and makes a sandbox. */
    GuestService serve() throws IOException, InterruptedException {
        return serve(boot());
    }

    /** Makes a sandbox. */
    static GuestService serve(GuestMachine machine) {
        GuestService service = new GuestService(machine);
        Answer.of(service::createSandbox, CreateSandboxRequest.getDefaultInstance());
        return service;
    }

    /** A request for a container with a root file system. */
    CreateContainerRequest.Builder container(String id) throws IOException {
        Path rootfs = Files.createDirectories(paths.root().resolveSibling("rootfs"));
        return CreateContainerRequest.newBuilder()
                .setContainerId(id)
                .setOCI(Spec.newBuilder()
                        .setProcess(Process.newBuilder().addArgs("true"))
                        .setRoot(Root.newBuilder().setPath(rootfs.toString())));
    }

    /** Creates and starts a container. */
    void start(GuestService service, String id) throws IOException {
        CreateContainerRequest request = container(id).build();
        Answer.of(service::createContainer, request);
        Answer.of(service::startContainer, startOf(id));
    }

    static StartContainerRequest startOf(String id) {
        return StartContainerRequest.newBuilder().setContainerId(id).build();
    }

    static WorkloadId workload(String id) {
        return FrontEnd.GUEST.workload("process", id, id);
    }

    /** Declared containers do not run from now on. */
    void startNothing() {
        startsContainers = false;
    }

    /** Runs a container, as its process does. */
    void run(String id) {
        runtime.set(id, "running");
        note(id, "pid", Long.toString(PID));
        agent.change(FakeAgent.seen(workload(id), null, ""));
    }

    /** Ends the first process of a container. */
    void exit(String id, int status) {
        runtime.set(id, "stopped");
        note(id, "exit", status + "\n");
        agent.change(FakeAgent.seen(workload(id), status, ""));
    }

    /** Writes a file into the bundle of a container. */
    void note(String id, String file, String text) {
        try {
            Files.writeString(paths.container(id).resolve(file), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
