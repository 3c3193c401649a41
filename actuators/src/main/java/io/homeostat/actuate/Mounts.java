package io.homeostat.actuate;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.platform.MountTable;
import io.homeostat.observe.process.ChangedThread;
import io.homeostat.observe.process.Libc;
import io.homeostat.observe.process.PinnedFile;
import io.homeostat.observe.process.UserMounts;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * What is mounted, mount(2) and umount(2). The directories concerned belong to tasks, which may replace them by links at any time, so the
 * kernel gets what we hold open instead of names.
 */
public final class Mounts {
    /** MS_NOSUID | MS_NODEV | MS_NOEXEC. */
    private static final long HARMLESS = 2 | 4 | 8;

    /** MS_BIND | MS_REC. */
    private static final long BIND = 4096 | 16384;

    /** MS_BIND. */
    private static final long BIND_ONE = 4096;

    private static final String NETWORK_OF_THIS_THREAD = "/proc/thread-self/ns/net";
    private static final String MEMORY = "size=1m,mode=777";

    /** More often than anybody mounts something over the same directory. */
    private static final int ROUNDS = 10;

    private final Path table;
    private final Kernel kernel;

    /** Who mounts; for tests. Each returns 0, or a negated error number. */
    public interface Kernel {
        int mount(String source, String directory, String type, long flags, String options);

        /** At once, whoever uses it; a link at the end is not followed. */
        int detach(String directory);

        /** A new network namespace for the calling thread. */
        int unshareNetwork();

        /** The one that runs. */
        Kernel REAL = new Kernel() {
            @Override
            public int mount(String source, String directory, String type, long flags, String options) {
                return Libc.mount(source, directory, type, flags, options);
            }

            @Override
            public int detach(String directory) {
                return Libc.detach(directory);
            }

            @Override
            public int unshareNetwork() {
                return Libc.unshareNetwork();
            }
        };
    }

    public Mounts() {
        this(Path.of("/proc/self/mountinfo"), Kernel.REAL);
    }

    /**
     * Those that a kernel makes; for tests.
     *
     * @param table a file like /proc/self/mountinfo
     */
    public Mounts(Path table, Kernel kernel) {
        this.table = table;
        this.kernel = kernel;
    }

    /** Where something is mounted, at or below this directory, in the order in which it was. */
    public ImmutableList<Path> below(Path directory) throws IOException {
        return MountTable.pointsBelow(real(directory), table);
    }

    /** With the links on the way to it followed, but never its own name: that may be a link by now. */
    private static Path real(Path directory) throws IOException {
        Path above = directory.toAbsolutePath().getParent();
        return above == null
                ? directory
                : above.toRealPath().resolve(directory.getFileName().toString());
    }

    /** Whether something is mounted at this directory. */
    public boolean isMounted(Path directory) throws IOException {
        return PinnedFile.exists(directory) && below(directory).contains(real(directory));
    }

    /**
     * Mounts a file system in memory over a directory at which nothing is mounted: small, open to all, nothing in it is executed.
     *
     * @return what is in the way, for people; empty when it is mounted
     */
    public Optional<String> memory(Path directory) throws IOException {
        return mount("tmpfs", directory, "tmpfs", HARMLESS, MEMORY);
    }

    /** The same with a directory and all that is mounted in it, unless something is mounted there already. */
    public Optional<String> bind(Path from, Path directory) throws IOException {
        return isMounted(directory) ? Optional.empty() : mount(from.toString(), directory, "none", BIND, "");
    }

    /**
     * Mounts a new network namespace on a file unless something is mounted there. The file keeps it: the thread that made it is no more
     * when this returns.
     *
     * @param file in a directory that only we can write to
     * @return what is in the way, for people; empty when it is mounted
     */
    public Optional<String> networkNamespace(Path file) throws IOException, InterruptedException {
        if (isMounted(file)) {
            return Optional.empty();
        }
        // Whatever else this process does must not go on in there.
        CompletableFuture<Integer> making = ChangedThread.run("network namespace", () -> {
            int made = kernel.unshareNetwork();
            return made < 0 ? made : kernel.mount(NETWORK_OF_THIS_THREAD, file.toString(), "none", BIND_ONE, "");
        });
        try {
            return problem(making.get());
        } catch (ExecutionException e) {
            throw new IllegalStateException(e.getCause());
        }
    }

    private Optional<String> mount(String source, Path directory, String type, long flags, String options)
            throws IOException {
        try (PinnedFile pinned = PinnedFile.of(directory)) {
            if (!pinned.facts().basic().isDirectory()) {
                return Optional.of(directory + " is no directory");
            }
            return problem(kernel.mount(source, pinned.path().toString(), type, flags, options));
        }
    }

    /**
     * Unmounts all at and below a directory. What is in use stays for who uses it, and nobody else finds it.
     *
     * @throws FileSystemException when something stays
     */
    public void clear(Path directory) throws IOException {
        clear(directory, this::below);
    }

    /**
     * Unmounts the file systems that users have mounted at and below a directory ({@link UserMounts}), and what is mounted over them.
     *
     * @throws FileSystemException when one stays
     */
    public void clearOfUsers(Path directory) throws IOException {
        clear(directory, real -> UserMounts.now().below(real));
    }

    private void clear(Path directory, Below below) throws IOException {
        Path root = real(directory);
        Optional<String> problem = Optional.empty();
        ImmutableList<Path> mounted = below.of(root);
        for (int round = 0; !mounted.isEmpty() && round < ROUNDS; round++) {
            // What is further down goes with it, and the way there may lead through a file system that never answers.
            for (Path point : ImmutableList.sortedCopyOf(Comparator.comparingInt(Path::getNameCount), mounted)) {
                try {
                    problem = unmount(root, point).or(() -> Optional.of("it came back"));
                } catch (NoSuchFileException | NotDirectoryException e) {
                    // The way there was on what is unmounted by now.
                    problem = Optional.of(Disk.reason(e));
                }
            }
            mounted = below.of(root);
        }
        if (!mounted.isEmpty()) {
            throw new FileSystemException(
                    mounted.getLast().toString(),
                    null,
                    "what is mounted there stays: " + problem.orElse("it came back"));
        }
    }

    /** Finds the places at and below a directory, whose path has no links, where something is mounted. */
    @FunctionalInterface
    private interface Below {
        ImmutableList<Path> of(Path real) throws IOException;
    }

    private Optional<String> unmount(Path root, Path point) throws IOException {
        if (point.equals(root)) {
            Path above = root.getParent();
            return above == null
                    ? Optional.of("it is the root")
                    : unmountIn(above, root.getFileName().toString());
        }
        Path way = root.relativize(point);
        PinnedFile above = PinnedFile.of(root);
        try {
            for (Path name : way.getNameCount() == 1 ? Path.of("") : way.subpath(0, way.getNameCount() - 1)) {
                PinnedFile next = name.toString().isEmpty()
                        ? null
                        : PinnedFile.of(above.path().resolve(name));
                if (next != null) {
                    above.close();
                    above = next;
                }
            }
            return unmountIn(above.path(), point.getFileName().toString());
        } finally {
            above.close();
        }
    }

    /** A directory that something is mounted at can't be replaced by a link. */
    private Optional<String> unmountIn(Path above, String name) {
        return problem(kernel.detach(above.resolve(name).toString()));
    }

    private static Optional<String> problem(int result) {
        return result < 0 ? Optional.of(Libc.words(-result)) : Optional.empty();
    }
}
