package io.homeostat.reconcile.agent.guest;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.Sets;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.platform.MountTable;
import io.homeostat.proto.kata.Storage;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** Mounts what callers want mounted in this machine: what needs no device to be found first. */
final class Storages {
    /** A directory that is only made. */
    private static final String LOCAL = "local";

    /** The type of file system of each driver, where the caller names none. */
    private static final ImmutableMap<String, String> TYPES = ImmutableMap.of(
            "ephemeral", "tmpfs",
            "virtio-fs", "virtiofs",
            "9p", "9p",
            "overlayfs", "overlay",
            "bind", "none");

    private final GuestPaths paths;
    private final Tools tools;
    private final Path mountTable;
    private final LocalDisk disk = new LocalDisk();

    Storages(GuestPaths paths, GuestSystem system) {
        this.paths = paths;
        this.tools = system.tools();
        this.mountTable = system.file("/proc/self/mountinfo");
    }

    /** The drivers that there are, as an agent tells them. */
    static ImmutableSet<String> drivers() {
        return ImmutableSet.<String>builder().addAll(TYPES.keySet()).add(LOCAL).build();
    }

    /**
     * Mounts those that are not, all or none.
     *
     * @return where it has mounted something
     * @throws IOException when one can't be
     */
    synchronized ImmutableList<Path> mount(List<Storage> storages) throws IOException, InterruptedException {
        check(storages);
        List<Path> done = new ArrayList<>();
        boolean complete = false;
        try {
            for (Storage one : storages) {
                Path point = paths.real(one.getMountPoint());
                Files.createDirectories(point);
                if (!one.getDriver().equals(LOCAL) && !isMounted(point)) {
                    // Before it is: what is not noted is not ours to unmount.
                    note(Sets.union(noted(), ImmutableSet.of(point.toRealPath().toString())));
                    // A failure takes its note away, too: what is mounted there later is not ours.
                    done.add(point);
                    mount(one, point);
                }
            }
            complete = true;
        } finally {
            if (!complete) {
                undo(ImmutableList.copyOf(done));
            }
        }
        return ImmutableList.copyOf(done);
    }

    /**
     * Rejects storages that can never be mounted here. Nothing is done.
     *
     * @throws io.grpc.StatusRuntimeException when there is one
     */
    void check(List<Storage> storages) {
        for (Storage one : storages) {
            if (!drivers().contains(one.getDriver())) {
                throw Refusals.unsupported("storages of driver '" + one.getDriver() + "' are not supported; these are: "
                        + String.join(", ", drivers()));
            }
            if (!one.getMountPoint().startsWith("/") || one.getMountPoint().indexOf('\n') >= 0) {
                throw Refusals.internal("the mount point '" + one.getMountPoint() + "' is no absolute path");
            }
            Path _ = paths.real(one.getMountPoint());
        }
    }

    private Path notes() {
        return paths.root().resolve("mounts");
    }

    private Set<String> noted() throws IOException {
        try {
            return ImmutableSet.copyOf(Files.readAllLines(notes()));
        } catch (NoSuchFileException e) {
            return ImmutableSet.of();
        }
    }

    private void note(Set<String> points) throws IOException {
        disk.replace(
                notes(),
                points.stream()
                        .map(point -> point + "\n")
                        .collect(Collectors.joining())
                        .getBytes(StandardCharsets.UTF_8));
    }

    private void mount(Storage storage, Path point) throws IOException, InterruptedException {
        boolean isBind = storage.getDriver().equals("bind");
        List<String> options = new ArrayList<>(storage.getOptionsList());
        if (isBind && !options.contains("rbind")) {
            options.add("bind");
        }
        String type = storage.getFstype().isEmpty() || isBind
                ? String.valueOf(TYPES.get(storage.getDriver()))
                : storage.getFstype();
        String source = storage.getSource().startsWith("/")
                ? paths.real(storage.getSource()).toString()
                : storage.getSource();
        String _ = tools.run(
                "mount",
                "-t",
                type,
                "-o",
                options.isEmpty() ? "defaults" : String.join(",", options),
                "--",
                source.isEmpty() ? type : source,
                point.toString());
    }

    /** Binds a file over another one. */
    void bind(Path file, Path over) throws IOException, InterruptedException {
        String _ = tools.run("mount", "--bind", "--", file.toString(), over.toString());
    }

    /** Unmounts what has just been mounted. */
    void undo(ImmutableList<Path> points) throws IOException, InterruptedException {
        for (Path point : points.reverse()) {
            unmount(point);
        }
    }

    /**
     * Unmounts what was mounted here for them; what others have mounted stays.
     *
     * @param inUse those that somebody else still uses
     */
    void unmount(List<Storage> storages, List<Storage> inUse) throws IOException, InterruptedException {
        Set<Path> kept =
                inUse.stream().map(one -> paths.real(one.getMountPoint())).collect(ImmutableSet.toImmutableSet());
        for (Storage one : storages.reversed()) {
            Path point = paths.real(one.getMountPoint());
            if (!kept.contains(point)
                    && Files.exists(point)
                    && noted().contains(point.toRealPath().toString())) {
                unmount(point);
            }
        }
    }

    /**
     * All that is mounted there, if anything is.
     *
     * @throws IOException when something stays
     */
    synchronized void unmount(Path point) throws IOException, InterruptedException {
        if (!Files.exists(point)) {
            return;
        }
        Path real = point.toRealPath();
        while (isMounted(real)) {
            String _ = tools.run("umount", "--lazy", "--", real.toString());
        }
        if (noted().contains(real.toString())) {
            note(Sets.difference(noted(), ImmutableSet.of(real.toString())));
        }
    }

    /** @throws IOException when something is: deleting what is there would delete what is elsewhere */
    void requireNothingMounted(Path directory) throws IOException {
        for (Path point : MountTable.pointsBelow(directory, mountTable)) {
            throw new FileSystemException(point.toString(), null, "is still mounted, and nothing below it is deleted");
        }
    }

    /** Whatever is mounted in a directory, by whomever. */
    void unmountBelow(Path directory) throws IOException, InterruptedException {
        for (Path point : MountTable.pointsBelow(directory, mountTable).reverse()) {
            unmount(point);
        }
    }

    private boolean isMounted(Path point) throws IOException {
        Path real = point.toRealPath();
        return MountTable.pointsBelow(real, mountTable).contains(real);
    }
}
