package io.homeostat.reconcile.agent.guest;

import com.github.benmanes.caffeine.cache.Ticker;
import com.google.common.collect.ImmutableList;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.Storage;
import io.homeostat.reconcile.agent.frontend.FrontEndAgent;
import io.homeostat.reconcile.agent.frontend.WorkloadLook;
import io.homeostat.reconcile.agent.frontend.WorkloadWatch;
import io.homeostat.reconcile.command.FrontEnd;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The containers of this machine that were asked for. Each has a directory, which is there in full or not at all, and from its start on a
 * process that is declared in an agent. All of it is found again by another instance, which goes on where this one was.
 */
final class HostedContainers {
    private static final Logger LOG = LoggerFactory.getLogger(HostedContainers.class);
    /** What their documents come from, with the ids. */
    static final String ORIGINS = "guest/containers/";

    private static final Duration START = Duration.ofSeconds(60);
    private static final long LOOK = 10;
    private static final int SIGKILL = 9;
    private static final int BY_SIGNAL = 128;

    private final GuestPaths paths;
    private final Layout layout;
    private final FrontEndAgent agent;
    private final OciRuntime runtime;
    private final Storages storages;
    private final HostedSandbox sandbox;
    private final Ticker ticker;
    private final RequestChecks checks;
    private final Tools tools;
    private final ProcFs procFs;
    private final LocalDisk disk = new LocalDisk();
    private final Map<String, HostedContainer> containers = new ConcurrentHashMap<>();
    private final OutOfMemoryWatch memory;
    private final WorkloadWatch watch;

    /**
     * Takes up what is there.
     *
     * @throws IOException when it can't be read
     */
    HostedContainers(
            GuestPaths paths,
            FrontEndAgent agent,
            OciRuntime runtime,
            Storages storages,
            HostedSandbox sandbox,
            RequestChecks checks,
            GuestSystem system)
            throws IOException {
        this.paths = paths;
        this.layout = agent.layout();
        this.agent = agent;
        this.runtime = runtime;
        this.storages = storages;
        this.sandbox = sandbox;
        this.checks = checks;
        this.ticker = system.ticker();
        this.tools = system.tools();
        this.procFs = system.procFs();
        this.watch = WorkloadWatch.begin(agent, this::followed, this::seen, LOG::warn);
        this.memory = OutOfMemoryWatch.begin(runtime, this::all);
        // Last: what is finished of it by other threads needs the rest.
        recover();
        watch.changed();
    }

    private void recover() throws IOException {
        SecureDirectories.create(paths.containers(), SecureDirectories.OURS);
        try (DirectoryStream<Path> all = Files.newDirectoryStream(paths.containers())) {
            for (Path directory : all) {
                String id = directory.getFileName().toString();
                if (GuestPaths.isId(id) && Files.exists(directory.resolve("request"))) {
                    recover(id, directory);
                } else {
                    // It had not been made in full, or not been deleted in full.
                    disk.deleteTree(directory);
                }
            }
        }
    }

    private void recover(String id, Path directory) throws IOException {
        HostedContainer container =
                container(id, CreateContainerRequest.parseFrom(Files.readAllBytes(directory.resolve("request"))));
        containers.put(id, container);
        if (Files.exists(container.removedFile())) {
            LOG.info("the removal of container {} was broken off, and is finished", id);
            removeLater(container);
        } else if (container.isStarted()) {
            // It may not have been declared, or be no longer, whoever has withdrawn it.
            declareLater(container);
        }
    }

    private HostedContainer container(String id, CreateContainerRequest request) {
        WorkloadId workload = FrontEnd.GUEST.workload("process", id, id);
        return new HostedContainer(id, paths.container(id), request, workload, layout.log(workload), errors(workload));
    }

    /** The standard error of a container is the log of errors of its process. */
    private Path errors(WorkloadId workload) {
        return layout.workloadState(workload)
                .resolve(String.valueOf(workload.kind().errorLog()));
    }

    /** Nobody has to ask for it again. */
    private void removeLater(HostedContainer container) {
        if (container.isRemovedLater()) {
            untilDone("is not removed", container, () -> {
                if (containers.get(container.id()) == container) {
                    remove(container);
                }
            });
        }
    }

    private void declareLater(HostedContainer container) {
        untilDone("is not declared", container, () -> {
            if (isWanted(container) && !container.hasEnded()) {
                declare(container);
            }
        });
    }

    private interface Work {
        void run() throws IOException, InterruptedException;
    }

    /** Does it in the turn of its container, again and again until it succeeds; by a thread of its own. */
    private static void untilDone(String problem, HostedContainer container, Work work) {
        Thread _ = Thread.ofVirtual().name("container " + container.id()).start(() -> {
            try {
                Duration pause = WorkloadWatch.SHORTEST_PAUSE;
                while (!isDone(problem, container, work)) {
                    pause = WorkloadWatch.longer(pause);
                    Thread.sleep(pause);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
    }

    private static boolean isDone(String problem, HostedContainer container, Work work) throws InterruptedException {
        container.turn().lockInterruptibly();
        try {
            work.run();
            return true;
        } catch (StatusRuntimeException | CommandFailure | IOException e) {
            LOG.warn("container {} {} for now: {}", container.id(), problem, e.getMessage());
            return false;
        } finally {
            container.turn().unlock();
        }
    }

    /** @throws StatusRuntimeException when there is none, as the calls say it that ask about one */
    HostedContainer get(String id) {
        return find(id).orElseThrow(Refusals::noContainer);
    }

    /** The same, as the calls say it that change one. */
    HostedContainer toChange(String id) {
        return find(id).orElseThrow(Refusals::noContainerToChange);
    }

    private Optional<HostedContainer> find(String id) {
        return Optional.ofNullable(containers.get(id)).filter(this::isWanted);
    }

    private boolean isWanted(HostedContainer container) {
        return containers.get(container.id()) == container && !Files.exists(container.removedFile());
    }

    /** The same of one whose removal may have been begun. */
    HostedContainer toRemove(String id) {
        return Optional.ofNullable(containers.get(id)).orElseThrow(Refusals::noContainerToChange);
    }

    OutOfMemoryWatch memory() {
        return memory;
    }

    ImmutableList<HostedContainer> all() {
        return ImmutableList.copyOf(containers.values());
    }

    /** Makes one that is not started. The same again changes nothing. */
    void create(CreateContainerRequest request) throws IOException, InterruptedException {
        String id = request.getContainerId();
        checks.check(request);
        HostedContainer container = containers.computeIfAbsent(id, same -> container(id, request));
        container.turn().lockInterruptibly();
        try {
            if (!isWanted(container)) {
                throw Refusals.unavailable("another container " + id + " is being removed; ask again");
            }
            if (Files.exists(container.directory())) {
                if (!container.request().equals(request)) {
                    throw Refusals.internal(
                            "there is a container " + id + " already, and another one; remove it first");
                }
                return;
            }
            boolean made = false;
            try {
                make(container);
                made = true;
            } finally {
                if (!made) {
                    containers.remove(id, container);
                }
            }
        } finally {
            container.turn().unlock();
        }
    }

    private void make(HostedContainer container) throws IOException, InterruptedException {
        CreateContainerRequest request = container.request();
        Path unfinished = paths.containers().resolve("." + container.id());
        disk.deleteTree(unfinished);
        SecureDirectories.create(unfinished, SecureDirectories.OURS);
        boolean made = false;
        ImmutableList<Path> mounted = ImmutableList.of();
        try {
            mounted = storages.mount(request.getStoragesList());
            Path rootfs = paths.real(request.getOCI().getRoot().getPath());
            if (!Files.isDirectory(rootfs)) {
                throw Refusals.internal("the root file system "
                        + request.getOCI().getRoot().getPath()
                        + " is no directory of this machine; correct its path, or put it there");
            }
            disk.write(
                    unfinished.resolve("config.json"),
                    OciJson.config(
                                    request.getOCI(),
                                    paths,
                                    "/" + CgroupLayout.name(layout) + "-guest/" + container.id(),
                                    paths.namespace("ipc"),
                                    paths.namespace("uts"))
                            .toString()
                            .getBytes(StandardCharsets.UTF_8));
            disk.write(unfinished.resolve("request"), request.toByteArray());
            String _ = tools.run(
                    "mkfifo", "--mode=600", unfinished.resolve("stdin").toString());
            disk.syncTree(unfinished);
            disk.rename(unfinished, container.directory());
            made = true;
        } finally {
            if (!made) {
                disk.deleteTree(unfinished);
                storages.undo(mounted);
            }
        }
    }

    /** Returns when it runs, or has run. Whoever starts it again gets the same. */
    void start(String id) throws IOException, InterruptedException {
        HostedContainer container = toChange(id);
        container.turn().lockInterruptibly();
        try {
            if (!isWanted(container)) {
                throw Refusals.noContainerToChange();
            }
            if (!container.isStarted()) {
                disk.replace(container.startedFile(), new byte[0]);
            }
            declare(container);
            watch.changed();
            awaitStart(container);
        } catch (CommandFailure e) {
            // It is noted, and done as soon as it can be.
            declareLater(container);
            throw Refusals.unavailable("container " + id + " is to be started, and is not yet: " + e.getMessage());
        } finally {
            container.turn().unlock();
        }
    }

    private void declare(HostedContainer container) throws IOException, InterruptedException {
        agent.declare(
                ORIGINS + container.id(),
                ContainerDocument.of(
                        container, procFs.kernelBootId(), errors(container.workload()), runtime.command(List.of())));
        container.declared();
    }

    private void awaitStart(HostedContainer container) throws IOException, InterruptedException {
        long end = ticker.read() + START.toNanos();
        while (!Files.exists(container.pidFile())) {
            if (container.hasEnded()) {
                if (Files.exists(container.pidFile())) {
                    return;
                }
                throw Refusals.internal(whyNotStarted(container));
            }
            if (Context.current().isCancelled()) {
                throw Refusals.cancelled();
            }
            if (ticker.read() - end >= 0) {
                WorkloadLook look = container.look();
                throw Refusals.unavailable("container " + container.id() + " does not run after " + START.toSeconds()
                        + " s" + (look == null || look.problem().isEmpty() ? "" : ": " + look.problem()));
            }
            Thread.sleep(LOOK);
        }
    }

    private static String whyNotStarted(HostedContainer container) throws IOException {
        try {
            Optional<String> said = OciRuntime.failure(Files.readString(container.runtimeLog()));
            if (said.isPresent()) {
                return said.get();
            }
        } catch (NoSuchFileException e) {
            LOG.debug("the runtime has written no log: {}", e.getMessage());
        }
        WorkloadLook look = container.look();
        return look == null || look.problem().isEmpty()
                ? "container " + container.id() + " has ended before it ran"
                : look.problem();
    }

    /** Ends it if it runs, and returns when nothing is left of it. */
    void remove(HostedContainer container, Duration timeout) throws IOException, InterruptedException {
        if (!container.turn().tryLock(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
            // Whoever starts it waits for its end or its start, and no longer.
            runtime.kill(container.id());
            container.turn().lockInterruptibly();
        }
        try {
            if (containers.get(container.id()) == container) {
                removeWhoeverWaits(container);
            }
        } finally {
            container.turn().unlock();
        }
    }

    /** Once it is begun it is finished, although nobody may wait for that any more. */
    private void removeWhoeverWaits(HostedContainer container) throws IOException, InterruptedException {
        Context call = Context.ROOT.attach();
        boolean removed = false;
        try {
            remove(container);
            removed = true;
        } finally {
            Context.ROOT.detach(call);
            if (!removed && Files.exists(container.removedFile())) {
                removeLater(container);
            }
        }
    }

    private void remove(HostedContainer container) throws IOException, InterruptedException {
        container.abandonExecs();
        disk.replace(container.removedFile(), new byte[0]);
        try {
            // The process ends with what it runs; what has lost its process is ended by this.
            runtime.delete(container.id());
            if (container.isStarted()) {
                agent.withdraw(container.workload());
                // It may have been started meanwhile.
                runtime.delete(container.id());
            }
        } catch (CommandFailure e) {
            throw Refusals.unavailable("container " + container.id() + " is being removed: " + e.getMessage());
        }
        storages.unmount(container.request().getStoragesList(), inUse(container));
        // In one step: of half of it nobody could say what it was.
        Path leftOver = paths.containers().resolve("." + container.id());
        disk.deleteTree(leftOver);
        disk.rename(container.directory(), leftOver);
        containers.remove(container.id(), container);
        container.ended(BY_SIGNAL + SIGKILL);
        watch.changed();
        disk.deleteTree(leftOver);
    }

    /** What others still use of what is mounted. */
    private ImmutableList<Storage> inUse(HostedContainer container) throws IOException {
        ImmutableList.Builder<Storage> used = ImmutableList.builder();
        used.addAll(sandbox.storages());
        for (HostedContainer other : containers.values()) {
            if (other != container) {
                used.addAll(other.request().getStoragesList());
            }
        }
        return used.build();
    }

    private ImmutableList<WorkloadId> followed() {
        return containers.values().stream()
                .filter(one -> one.isStarted() && !one.hasEnded())
                .map(HostedContainer::workload)
                .collect(ImmutableList.toImmutableList());
    }

    private void seen(WorkloadLook look) {
        for (HostedContainer container : containers.values()) {
            if (container.workload().equals(look.workload()) && !container.hasEnded()) {
                container.seen(look);
                if (look.known() ? look.over() : container.isDeclared()) {
                    Thread _ = Thread.ofVirtual().name("end").start(() -> over(container, look));
                }
            }
        }
    }

    private void over(HostedContainer container, WorkloadLook look) {
        try {
            // What was said before it was declared may be heard after that.
            if ((look.known() || !agent.look(container.workload()).known()) && container.beginsToEnd()) {
                ended(container, look);
            }
        } catch (CommandFailure e) {
            // The next look says it again.
            LOG.debug("whether container {} has ended: {}", container.id(), e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void ended(HostedContainer container, WorkloadLook look) {
        try {
            // Somebody may have killed the runtime alone.
            runtime.kill(container.id());
        } catch (StatusRuntimeException e) {
            LOG.warn("what is left of container {} was not ended: {}", container.id(), e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        memory.look(container);
        int status = status(container, look);
        LOG.info("container {} has ended with exit status {}", container.id(), status);
        container.ended(status);
        watch.changed();
    }

    private static int status(HostedContainer container, WorkloadLook look) {
        try {
            return Integer.parseInt(Files.readString(container.exitFile()).strip());
        } catch (IOException | NumberFormatException e) {
            // It was killed before it could write it.
            WorkloadLook.End end = look.end();
            return end == null || end.code() == null ? BY_SIGNAL + SIGKILL : end.code();
        }
    }
}
