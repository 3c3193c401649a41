package io.homeostat.reconcile.agent.guest;

import com.google.protobuf.ByteString;
import io.grpc.Context;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.process.PipeEnd;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.kata.CgroupStats;
import io.homeostat.proto.kata.ExecProcessRequest;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.reconcile.agent.frontend.FrontEndAgent;
import io.homeostat.reconcile.agent.guest.OciRuntime.State;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What is done with containers that are there. None of it waits for who creates, starts or removes one. */
final class ContainerOperations {
    private static final Logger LOG = LoggerFactory.getLogger(ContainerOperations.class);
    private static final long LOOK = 10;
    private static final int SIGTERM = 15;
    private static final int SIGKILL = 9;
    private static final int SIGUSR1 = 10;
    private static final int LAST_SIGNAL = 64;

    /** Limits are whole pages, and a kernel may have large ones. */
    private static final long PAGE = 64 << 10;

    private final HostedContainers containers;
    private final FrontEndAgent agent;
    private final OciRuntime runtime;
    private final RequestChecks checks;
    private final GuestSystem system;
    private final ProcFs procFs;
    private final LocalDisk disk = new LocalDisk();

    ContainerOperations(
            HostedContainers containers,
            FrontEndAgent agent,
            OciRuntime runtime,
            RequestChecks checks,
            GuestSystem system) {
        this.containers = containers;
        this.agent = agent;
        this.runtime = runtime;
        this.checks = checks;
        this.system = system;
        this.procFs = system.procFs();
    }

    /**
     * Sends a signal to its first process.
     *
     * @param all whether SIGKILL is for all of its processes
     */
    void signal(HostedContainer container, int signal, boolean all) throws IOException, InterruptedException {
        if (signal < 0 || signal > LAST_SIGNAL) {
            throw Refusals.internal("EINVAL: there is no signal " + signal);
        }
        if (!container.isStarted()) {
            throw Refusals.internal("container " + container.id() + " has not been started");
        }
        if (container.hasEnded()) {
            throw Refusals.noProcess();
        }
        if (signal == 0) {
            return;
        }
        State before = runtime.state(container.id());
        if (before == State.NONE) {
            throw Refusals.unavailable("container " + container.id() + " is being started; ask again");
        }
        if (before == State.STOPPED) {
            throw Refusals.noProcess();
        }
        if (signal == SIGKILL && all) {
            runtime.kill(container.id());
            return;
        }
        // The first process of a namespace gets no signal that it has no handler for, but for this one.
        boolean isDeaf = signal == SIGTERM && !procFs.handles(pid(container), SIGTERM);
        runtime.signal(container.id(), isDeaf ? SIGKILL : signal);
        if ((isDeaf || signal == SIGKILL) && before == State.PAUSED) {
            runtime.resume(container.id());
        }
    }

    private static long pid(HostedContainer container) throws IOException {
        return Long.parseLong(Files.readString(container.pidFile()).strip());
    }

    void pause(String id) throws InterruptedException {
        switch (running(id)) {
            case PAUSED -> {}
            case RUNNING -> runtime.pause(id);
            default -> throw Refusals.internal("container " + id + " does not run");
        }
    }

    void resume(String id) throws InterruptedException {
        switch (running(id)) {
            case RUNNING -> {}
            case PAUSED -> runtime.resume(id);
            default -> throw Refusals.internal("container " + id + " does not run");
        }
    }

    private State running(String id) throws InterruptedException {
        return runtime.state(containers.get(id).id());
    }

    /** Zeros for one of which nothing runs. */
    CgroupStats statistics(String id) throws InterruptedException {
        State state = running(id);
        return state == State.RUNNING || state == State.PAUSED
                ? RuntimeStatistics.of(runtime.statistics(id))
                : CgroupStats.getDefaultInstance();
    }

    /** Gives it other limits, and looks whether it has them then. */
    void update(String id, LinuxResources resources) throws IOException, InterruptedException {
        HostedContainer container = containers.get(id);
        State state = runtime.state(id);
        if (state != State.RUNNING && state != State.PAUSED) {
            throw Refusals.internal("container " + id + " does not run");
        }
        Path file = Files.createTempFile(container.directory(), "resources", ".json");
        try {
            Files.writeString(file, OciJson.resources(resources).toString());
            runtime.update(id, file);
        } finally {
            Files.deleteIfExists(file);
        }
        CgroupStats now = RuntimeStatistics.of(runtime.statistics(id));
        requireLimit(
                "memory",
                resources.getMemory().getLimit(),
                now.getMemoryStats().getUsage().getLimit(),
                PAGE);
        requireLimit("pids", resources.getPids().getLimit(), now.getPidsStats().getLimit(), 1);
    }

    private static void requireLimit(String what, long asked, long has, long accuracy) {
        if (asked > 0 && Math.abs(asked - has) >= accuracy) {
            throw Refusals.internal("the limit of " + what + " is " + has + " and not " + asked
                    + ", although the runtime has taken it");
        }
    }

    /** Begins a command in it. */
    void exec(ExecProcessRequest request) throws IOException, InterruptedException {
        HostedContainer container = containers.toChange(request.getContainerId());
        String id = container.id();
        String exec = request.getExecId();
        // The id of the container is that of its first process: no call would ever reach this one.
        if (!GuestPaths.isId(exec) || exec.equals(id)) {
            throw Refusals.internal("invalid exec id '" + exec + "'");
        }
        if (request.hasStringUser() || request.getStdinPort() != 0 || request.getStdoutPort() != 0) {
            throw Refusals.unsupported("users by name and streams with ports are not supported");
        }
        checks.check(request.getProcess());
        switch (runtime.state(id)) {
            case RUNNING -> {}
            case PAUSED -> throw Refusals.internal("container " + id + " is paused, and a command would not run");
            default -> throw Refusals.internal("container " + id + " does not run");
        }
        container.exec(exec, () -> {
            Path directory = Files.createTempDirectory(container.directory(), "exec");
            Path log = null;
            try {
                // The runtime syncs each line of its log, which takes a disk long.
                log = Files.createTempFile(agent.layout().runDir(), "exec", ".log");
                Path process = directory.resolve("process.json");
                Path pid = directory.resolve("pid");
                Files.writeString(process, OciJson.process(request.getProcess()).toString());
                return HostedExec.begin(
                        system,
                        // Only with this does the runtime log how the command's process has ended.
                        runtime.command(List.of(
                                "--debug",
                                "--log",
                                log.toString(),
                                "exec",
                                "--process",
                                process.toString(),
                                "--pid-file",
                                pid.toString(),
                                id)),
                        request.getProcess().getTerminal(),
                        pid,
                        log);
            } finally {
                // What is in it may be secret, and is needed no more.
                if (log != null) {
                    Files.deleteIfExists(log);
                }
                disk.deleteTree(directory);
            }
        });
    }

    /** Waits until its standard input has taken some of it; returns how much. */
    int write(HostedContainer container, ByteString bytes) throws IOException, InterruptedException {
        if (Files.exists(container.stdinClosedFile())) {
            throw Refusals.internal("the standard input of container " + container.id() + " is closed");
        }
        ByteBuffer left = bytes.asReadOnlyByteBuffer();
        try (PipeEnd pipe = new PipeEnd(container.stdin().toString())) {
            while (!container.hasEnded()) {
                int written = pipe.write(left);
                if (written > 0 || !left.hasRemaining()) {
                    return written;
                }
                if (Context.current().isCancelled()) {
                    throw Refusals.cancelled();
                }
                Thread.sleep(LOOK);
            }
        }
        throw Refusals.internal("container " + container.id() + " has ended");
    }

    /** The process that runs the runtime; null when there is none. */
    private @Nullable ProcessIdentity process(HostedContainer container) throws InterruptedException {
        if (container.hasEnded() || !container.isStarted()) {
            return null;
        }
        try {
            return agent.look(container.workload()).process();
        } catch (CommandFailure e) {
            throw Refusals.unavailable(String.valueOf(e.getMessage()));
        }
    }

    /** What was written to it is read first. */
    void closeInput(HostedContainer container) throws IOException, InterruptedException {
        disk.replace(container.stdinClosedFile(), new byte[0]);
        ProcessIdentity process = process(container);
        if (process != null) {
            boolean _ = system.signals().send(process.pid(), process.startTicks(), SIGUSR1);
        }
    }

    void resize(HostedContainer container, int rows, int columns) throws IOException, InterruptedException {
        ProcessIdentity process = process(container);
        if (process == null) {
            throw Refusals.internal("container " + container.id() + " does not run");
        }
        Optional<Path> terminal = terminal(process.pid());
        if (terminal.isPresent()) {
            String _ = system.tools()
                    .run(
                            "stty",
                            "-F",
                            terminal.get().toString(),
                            "rows",
                            Integer.toString(rows),
                            "columns",
                            Integer.toString(columns));
        }
    }

    /** That of the runtime, which hands on its size. */
    private static Optional<Path> terminal(long pid) throws IOException {
        for (ProcessHandle each : ProcessHandle.of(pid).stream()
                .flatMap(ProcessHandle::descendants)
                .toList()) {
            try {
                Path file = Files.readSymbolicLink(Path.of("/proc", Long.toString(each.pid()), "fd", "0"));
                if (file.startsWith("/dev/pts")) {
                    return Optional.of(file);
                }
            } catch (NoSuchFileException e) {
                LOG.debug("process {} has ended", each.pid());
            }
        }
        return Optional.empty();
    }
}
