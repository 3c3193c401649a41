package io.homeostat.reconcile.agent.guest;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.proto.kata.CreateSandboxRequest;
import io.homeostat.proto.kata.KernelModule;
import io.homeostat.proto.kata.Storage;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What containers share, once in each boot. It is written down before anything is done for it; that it is done is marked by a file where
 * Kata's agent has a namespace, by which clients know it.
 */
final class HostedSandbox {
    /**
     * Sets the host name and limits in the namespaces that unshare(1) has made. Shared memory, semaphores and message queues of System V
     * outlive the container that has made them, and are counted against no limit then: shared memory goes with its last process, and the
     * others are so few that they take some 40 MiB at most. A kernel may have none of it.
     */
    private static final String PREPARE = "cd /proc/sys/kernel && printf %s \"$1\" >hostname && { [ ! -e sem ]"
            + " || { echo 1 >shm_rmid_forced && echo 250 32000 500 128 >sem && echo 32 >msgmni; }; }";

    private final GuestPaths paths;
    private final Storages storages;
    private final Tools tools;
    private final Path systemResolver;
    private final LocalDisk disk = new LocalDisk();

    /**
     * Takes up what is there; of what was begun and not finished nothing is left.
     *
     * @throws IOException when that can't be
     */
    HostedSandbox(GuestPaths paths, Storages storages, GuestSystem system) throws IOException, InterruptedException {
        this.paths = paths;
        this.storages = storages;
        this.tools = system.tools();
        this.systemResolver = system.file("/etc/resolv.conf");
        if (!isThere()) {
            undo();
        }
    }

    private Path request() {
        return paths.root().resolve("sandbox");
    }

    private Path resolver() {
        return paths.root().resolve("resolv.conf");
    }

    boolean isThere() {
        return Files.exists(paths.sandboxMark());
    }

    /** Makes it. The same again changes nothing. */
    synchronized void create(CreateSandboxRequest request) throws IOException, InterruptedException {
        if (isThere()) {
            if (!asked().equals(Optional.of(request))) {
                throw Refusals.internal(
                        "this machine has a sandbox already, and another one; destroy it first, nothing was changed");
            }
            return;
        }
        if (request.getSandboxPidns()) {
            throw Refusals.unsupported("containers do not share their processes here; leave out sandbox_pidns");
        }
        if (!request.getGuestHookPath().isEmpty()) {
            throw Refusals.unsupported("no hooks are run; leave out guest_hook_path");
        }
        // What is written down has to be what can be undone, by another instance, too.
        storages.check(request.getStoragesList());
        disk.replace(request(), request.toByteArray());
        boolean made = false;
        try {
            make(request);
            made = true;
        } finally {
            if (!made) {
                undo();
            }
        }
    }

    /** What is mounted for it. */
    synchronized List<Storage> storages() throws IOException {
        return asked().map(CreateSandboxRequest::getStoragesList).orElse(ImmutableList.of());
    }

    private Optional<CreateSandboxRequest> asked() throws IOException {
        try {
            return Optional.of(CreateSandboxRequest.parseFrom(Files.readAllBytes(request())));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private void make(CreateSandboxRequest request) throws IOException, InterruptedException {
        for (KernelModule module : request.getKernelModulesList()) {
            List<String> command = new ArrayList<>(List.of("modprobe", "--", module.getName()));
            command.addAll(module.getParametersList());
            String _ = tools.run(command.toArray(String[]::new));
        }
        var _ = storages.mount(request.getStoragesList());
        if (request.getDnsCount() > 0) {
            disk.replace(resolver(), (String.join("\n", request.getDnsList()) + "\n").getBytes(StandardCharsets.UTF_8));
            // Whoever resolves names has to be able to read it, whatever our umask is.
            boolean _ = resolver().toFile().setReadable(true, false);
            storages.bind(resolver(), systemResolver.toRealPath());
        }
        SecureDirectories.create(paths.namespaces(), SecureDirectories.OURS);
        String _ = tools.run(
                "unshare",
                "--ipc=" + Files.createFile(paths.namespace("ipc")),
                "--uts=" + Files.createFile(paths.namespace("uts")),
                "sh",
                "-c",
                PREPARE,
                "sh",
                request.getHostname().isEmpty() ? "localhost" : request.getHostname());
        SecureDirectories.create(paths.sandboxMark().resolveSibling(""), SecureDirectories.OURS);
        disk.write(paths.sandboxMark(), new byte[0]);
    }

    /** Nothing is left of it. */
    synchronized void destroy() throws IOException, InterruptedException {
        undo();
    }

    private void undo() throws IOException, InterruptedException {
        Files.deleteIfExists(paths.sandboxMark());
        for (String type : ImmutableList.of("ipc", "uts")) {
            storages.unmount(paths.namespace(type));
            Files.deleteIfExists(paths.namespace(type));
        }
        if (Files.exists(resolver()) && Files.exists(systemResolver) && Files.isSameFile(resolver(), systemResolver)) {
            storages.unmount(systemResolver.toRealPath());
        }
        Files.deleteIfExists(resolver());
        Optional<CreateSandboxRequest> asked = asked();
        if (asked.isPresent()) {
            List<Storage> mounted = asked.get().getStoragesList();
            storages.unmount(mounted, ImmutableList.of());
        }
        Files.deleteIfExists(request());
    }
}
